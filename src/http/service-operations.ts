/** What every service offers as a whole: its properties and its stats. Each door puts them among its own operations. */
import { formatHttpDate } from '../base/http-date.ts';
import { getServiceProperties, type ServiceProperties, setServiceProperties } from '../service/service-properties.ts';
import type { Storage } from '../service/storage.ts';
import { invalidQuery } from '../service/storage-error.ts';
import { readWhole } from './body.ts';
import type { Exchange, Reply } from './exchange.ts';
import { PROPERTIES_BYTES_MAX, parseServiceProperties, renderServiceProperties } from './service-properties.ts';
import { XmlWriter } from './xml.ts';

export async function answerGetProperties(storage: Storage, { target, service }: Exchange): Promise<Reply> {
  const properties = await getServiceProperties(storage, target.account, service);
  return {
    status: 200,
    headers: ['Content-Type', 'application/xml'],
    body: renderServiceProperties(properties, service),
  };
}

/** `before`: what must be done before a change is stored. */
export async function answerSetProperties(
  storage: Storage,
  exchange: Exchange,
  before: (change: Partial<ServiceProperties>) => Promise<void> = async () => {},
): Promise<Reply> {
  const { target, service } = exchange;
  const change = parseServiceProperties(await readWhole(exchange, { maxBytes: PROPERTIES_BYTES_MAX }), service);
  await before(change);
  await setServiceProperties(storage, target.account, service, change);
  return { status: 202, headers: [] };
}

/** The secondary is the same store under another name, so it is always live and never behind. */
export async function answerGetStats(storage: Storage, exchange: Exchange): Promise<Reply> {
  if (!exchange.target.secondary)
    throw invalidQuery('comp', 'stats', 'Stats are available only at the secondary endpoint.');
  const body = new XmlWriter()
    .open('StorageServiceStats')
    .open('GeoReplication')
    .leaf('Status', 'live')
    .leaf('LastSyncTime', formatHttpDate(storage.clock.nowMs()))
    .toString();
  return { status: 200, headers: ['Content-Type', 'application/xml'], body };
}
