/** Operations on the account's Blob service as a whole. */
import { getAccountInformation as accountInformationNeed, blobNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { WEB_CONTAINER } from '../../rules/website.ts';
import { createContainer } from '../../service/blob/create-container.ts';
import {
  getServiceProperties as getProperties,
  setServiceProperties as setProperties,
} from '../../service/service-properties.ts';
import type { Storage } from '../../service/storage.ts';
import { invalidQuery, StorageError } from '../../service/storage-error.ts';
import { readWhole } from '../body.ts';
import { PROPERTIES_BYTES_MAX, parseServiceProperties, renderServiceProperties } from '../service-properties.ts';
import { XmlWriter } from '../xml.ts';
import type { Operation } from './operation.ts';

export const getServiceProperties: Operation = {
  name: 'Get Blob Service Properties',
  need: blobNeeds.getServiceProperties,
  async handle(storage, exchange) {
    const properties = await getProperties(storage, exchange.target.account, exchange.service);
    return {
      status: 200,
      headers: ['Content-Type', 'application/xml'],
      body: renderServiceProperties(properties),
    };
  },
};

export const setServiceProperties: Operation = {
  name: 'Set Blob Service Properties',
  need: blobNeeds.setServiceProperties,
  async handle(storage, exchange) {
    const change = parseServiceProperties(await readWhole(exchange, { maxBytes: PROPERTIES_BYTES_MAX }));
    const { account } = exchange.target;
    if (change.staticWebsite?.enabled === true) await makeWebContainer(storage, account);
    await setProperties(storage, account, exchange.service, change);
    return { status: 202, headers: [] };
  },
};

/** A website that is switched on has a place for its pages. */
async function makeWebContainer(storage: Storage, account: string): Promise<void> {
  try {
    await createContainer(storage, { name: { account, container: WEB_CONTAINER }, metadata: [], publicAccess: null });
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'ContainerAlreadyExists')) throw error;
  }
}

/** The secondary is the same store under another name, so it is always live and never behind. */
export const getServiceStats: Operation = {
  name: 'Get Blob Service Stats',
  need: blobNeeds.getServiceStats,
  async handle(storage, exchange) {
    if (!exchange.target.secondary) throw invalidQuery('comp', 'stats', 'Stats are asked of the secondary.');
    const body = new XmlWriter()
      .open('StorageServiceStats')
      .open('GeoReplication')
      .leaf('Status', 'live')
      .leaf('LastSyncTime', formatHttpDate(storage.clock.nowMs()))
      .toString();
    return { status: 200, headers: ['Content-Type', 'application/xml'], body };
  },
};

const ACCOUNT_INFORMATION: readonly string[] = [
  'x-ms-sku-name',
  'Standard_RAGRS',
  'x-ms-account-kind',
  'StorageV2',
  'x-ms-is-hns-enabled',
  'false',
];

export const getAccountInformation: Operation = {
  name: 'Get Account Information',
  need: (exchange) => {
    const segmentCount = exchange.target.resourcePath.split('/').filter((segment) => segment !== '').length;
    return accountInformationNeed(['container', 'blob'].slice(0, segmentCount));
  },
  async handle() {
    return { status: 200, headers: ACCOUNT_INFORMATION };
  },
};
