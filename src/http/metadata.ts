/** What users note about containers, blobs and queues: `x-ms-meta-` headers in and out, elements in listings. */
import { type Metadata, refuseMetadata } from '../rules/names.ts';
import { StorageError } from '../service/storage-error.ts';
import type { Exchange } from './exchange.ts';
import type { XmlWriter } from './xml.ts';

const PREFIX = 'x-ms-meta-';

export function parseMetadata(exchange: Exchange): Metadata {
  const metadata = exchange
    .headersWithPrefix(PREFIX)
    .map(([name, value]) => [name.slice(PREFIX.length), value.trim()] as const);
  const code = refuseMetadata(metadata);
  if (code !== null) throw new StorageError(code);
  return metadata;
}

export function metadataHeaders(metadata: Metadata): string[] {
  return metadata.flatMap(([name, value]) => [PREFIX + name, value]);
}

/** Metadata names are identifiers (rules/names.ts), so each makes an element's name. */
export function renderMetadata(xml: XmlWriter, metadata: Metadata): void {
  xml.open('Metadata');
  for (const [name, value] of metadata) xml.leaf(name, value);
  xml.close();
}
