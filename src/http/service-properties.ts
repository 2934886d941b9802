/**
 * Service properties as XML, for all services; some parts are Blob's alone, some File's. A part that is present must be
 * complete, but for the settings of protocols.
 */
import type { ServiceLetter } from '../rules/acl.ts';
import { type CorsRule, refuseCorsRules } from '../rules/cors.ts';
import { effectiveVersion, NEWEST_VERSION } from '../rules/versions.ts';
import {
  type DeleteRetention,
  type Logging,
  type Metrics,
  type NfsSettings,
  type RetentionPolicy,
  type ServiceProperties,
  SMB_SETTINGS,
  type SmbSettings,
  type StaticWebsite,
} from '../service/service-properties.ts';
import { invalidXml, invalidXmlNode, StorageError } from '../service/storage-error.ts';
import { childNamed, parseXml, type XmlNode, XmlWriter } from './xml.ts';

export const PROPERTIES_BYTES_MAX = 64 * 1024;
const RETENTION_DAYS_MAX = 365;

const SMB_LISTS = [
  ['Versions', 'versions'],
  ['AuthenticationMethods', 'authenticationMethods'],
  ['KerberosTicketEncryption', 'kerberosTicketEncryption'],
  ['ChannelEncryption', 'channelEncryption'],
] as const;

/** Parts that not all services have. */
const SOME_HAVE: ReadonlyMap<string, readonly ServiceLetter[]> = new Map<string, readonly ServiceLetter[]>([
  ['DefaultServiceVersion', ['b']],
  ['DeleteRetentionPolicy', ['b']],
  ['StaticWebsite', ['b']],
  ['Logging', ['b', 'q', 't']],
  ['ShareDeleteRetentionPolicy', ['f']],
  ['ProtocolSettings', ['f']],
]);

export function parseServiceProperties(body: Uint8Array, service: ServiceLetter): Partial<ServiceProperties> {
  const root = parseXml(body);
  if (root.name !== 'StorageServiceProperties') throw invalidXml('StorageServiceProperties is expected.');
  let change: Partial<ServiceProperties> = {};
  for (const node of root.children) change = { ...change, ...parsePart(node, service) };
  return change;
}

function parsePart(node: XmlNode, service: ServiceLetter): Partial<ServiceProperties> {
  if (SOME_HAVE.get(node.name)?.includes(service) === false) throw unknownNode(node);
  switch (node.name) {
    case 'Logging':
      return { logging: parseLogging(node) };
    // What HourMetrics was called before 2013-08-15.
    case 'Metrics':
    case 'HourMetrics':
      return { hourMetrics: parseMetrics(node) };
    case 'MinuteMetrics':
      return { minuteMetrics: parseMetrics(node) };
    case 'Cors':
      return { cors: parseCors(node) };
    case 'DefaultServiceVersion':
      return { defaultServiceVersion: parseDefaultVersion(node) };
    case 'DeleteRetentionPolicy':
      return { deleteRetention: parseDeleteRetention(node) };
    case 'StaticWebsite':
      return { staticWebsite: parseStaticWebsite(node) };
    case 'ShareDeleteRetentionPolicy':
      return { shareDeleteRetention: parseRetention(node) };
    case 'ProtocolSettings':
      return parseProtocols(node);
    default:
      throw unknownNode(node);
  }
}

const unknownNode = ({ name }: XmlNode): StorageError => invalidXml(`The element ${name} is not allowed here.`);

function parseLogging(node: XmlNode): Logging {
  return {
    version: text(node, 'Version'),
    delete: flag(node, 'Delete'),
    read: flag(node, 'Read'),
    write: flag(node, 'Write'),
    retention: parseRetention(required(node, 'RetentionPolicy')),
  };
}

function parseMetrics(node: XmlNode): Metrics {
  const enabled = flag(node, 'Enabled');
  const hasApis = childNamed(node, 'IncludeAPIs') !== null;
  if (hasApis && !enabled) throw invalidXml('IncludeAPIs is allowed only if metrics are enabled.');
  return {
    version: text(node, 'Version'),
    enabled,
    ...(enabled ? { includeApis: flag(node, 'IncludeAPIs') } : {}),
    retention: parseRetention(required(node, 'RetentionPolicy')),
  };
}

function parseRetention(node: XmlNode): RetentionPolicy {
  if (!flag(node, 'Enabled')) return { enabled: false };
  const days = wholeNumber(node, 'Days');
  if (days < 1 || days > RETENTION_DAYS_MAX) throw invalidXmlNode('Days', String(days));
  return { enabled: true, days };
}

function parseCors(node: XmlNode): CorsRule[] {
  const rules = node.children.map((rule) => {
    if (rule.name !== 'CorsRule') throw unknownNode(rule);
    return {
      allowedOrigins: list(rule, 'AllowedOrigins'),
      allowedMethods: list(rule, 'AllowedMethods'),
      allowedHeaders: list(rule, 'AllowedHeaders'),
      exposedHeaders: list(rule, 'ExposedHeaders'),
      maxAgeSeconds: wholeNumber(rule, 'MaxAgeInSeconds'),
    };
  });
  const code = refuseCorsRules(rules);
  if (code !== null) throw new StorageError(code, { elements: { XmlNodeName: 'Cors' } });
  return rules;
}

function parseDefaultVersion(node: XmlNode): string {
  const version = effectiveVersion(node.text.trim(), NEWEST_VERSION);
  if (version === null) throw invalidXmlNode('DefaultServiceVersion', node.text);
  return version;
}

function parseDeleteRetention(node: XmlNode): DeleteRetention {
  const retention = parseRetention(node);
  if (!retention.enabled || childNamed(node, 'AllowPermanentDelete') === null) return retention;
  return { ...retention, allowPermanentDelete: flag(node, 'AllowPermanentDelete') };
}

function parseStaticWebsite(node: XmlNode): StaticWebsite {
  if (!flag(node, 'Enabled')) return { enabled: false };
  const indexDocument = documentPath(node, 'IndexDocument');
  const defaultIndexDocumentPath = documentPath(node, 'DefaultIndexDocumentPath');
  const errorDocument404Path = documentPath(node, 'ErrorDocument404Path');
  if (indexDocument?.includes('/') === true) {
    throw invalidXmlNode('IndexDocument', indexDocument, 'It must be a name, not a path.');
  }
  if (indexDocument !== null && defaultIndexDocumentPath !== null) {
    throw invalidXml('IndexDocument and DefaultIndexDocumentPath exclude each other.');
  }
  return {
    enabled: true,
    ...(indexDocument === null ? {} : { indexDocument }),
    ...(defaultIndexDocumentPath === null ? {} : { defaultIndexDocumentPath }),
    ...(errorDocument404Path === null ? {} : { errorDocument404Path }),
  };
}

const DOCUMENT_PATH_LENGTH_MAX = 255;

/** Null where it is absent or empty. */
function documentPath(node: XmlNode, name: string): string | null {
  const path = childNamed(node, name)?.text.trim() ?? '';
  if (path.length > DOCUMENT_PATH_LENGTH_MAX) throw invalidXmlNode(name, path);
  return path === '' ? null : path;
}

function parseProtocols(node: XmlNode): Partial<Pick<ServiceProperties, 'smb' | 'nfs'>> {
  let change: Partial<Pick<ServiceProperties, 'smb' | 'nfs'>> = {};
  for (const protocol of node.children) {
    if (protocol.name === 'SMB') change = { ...change, smb: parseSmb(protocol) };
    else if (protocol.name === 'NFS') change = { ...change, nfs: parseNfs(protocol) };
    else throw unknownNode(protocol);
  }
  return change;
}

function parseSmb(node: XmlNode): SmbSettings {
  let settings: SmbSettings = {};
  for (const child of node.children) {
    const list = SMB_LISTS.find(([name]) => name === child.name)?.[1];
    if (list !== undefined) settings = { ...settings, [list]: parseSmbList(child, SMB_SETTINGS[list]) };
    else if (child.name === 'Multichannel') settings = { ...settings, multichannel: flag(child, 'Enabled') };
    else if (child.name === 'EncryptionInTransit') settings = { ...settings, ...parseEncryption(child) };
    else throw unknownNode(child);
  }
  return settings;
}

function parseNfs(node: XmlNode): NfsSettings {
  const other = node.children.find(({ name }) => name !== 'EncryptionInTransit');
  if (other !== undefined) throw unknownNode(other);
  const encryption = childNamed(node, 'EncryptionInTransit');
  return encryption === null ? {} : parseEncryption(encryption);
}

const parseEncryption = (node: XmlNode): { encryptionRequired: boolean } => ({
  encryptionRequired: flag(node, 'Required'),
});

/** Between commas or semicolons: both are in use. None: all that there are. */
function parseSmbList(node: XmlNode, known: readonly string[]): string[] {
  const words = node.text
    .split(/[,;]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
  return words.map((word) => {
    const value = known.find((each) => each.toLowerCase() === word.toLowerCase());
    if (value === undefined) throw invalidXmlNode(node.name, word);
    return value;
  });
}

function required(node: XmlNode, name: string): XmlNode {
  const child = childNamed(node, name);
  if (child === null) throw new StorageError('MissingRequiredXmlNode', { elements: { XmlNodeName: name } });
  return child;
}

const text = (node: XmlNode, name: string): string => required(node, name).text.trim();

function flag(node: XmlNode, name: string): boolean {
  const value = text(node, name).toLowerCase();
  if (value !== 'true' && value !== 'false') throw invalidXmlNode(name, value);
  return value === 'true';
}

function wholeNumber(node: XmlNode, name: string): number {
  const value = text(node, name);
  if (!/^\d{1,9}$/.test(value)) throw invalidXmlNode(name, value);
  return Number(value);
}

const list = (node: XmlNode, name: string): string[] =>
  text(node, name)
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export function renderServiceProperties(properties: ServiceProperties, service: ServiceLetter): string {
  const xml = new XmlWriter().open('StorageServiceProperties');
  if (service !== 'f') renderLogging(xml, properties.logging);
  renderMetrics(xml, 'HourMetrics', properties.hourMetrics);
  renderMetrics(xml, 'MinuteMetrics', properties.minuteMetrics);
  renderCors(xml, properties.cors);
  if (service === 'b') renderBlobParts(xml, properties);
  if (service === 'f') renderFileParts(xml, properties);
  return xml.toString();
}

function renderLogging(xml: XmlWriter, logging: Logging): void {
  xml
    .open('Logging')
    .leaf('Version', logging.version)
    .leaf('Read', logging.read)
    .leaf('Write', logging.write)
    .leaf('Delete', logging.delete);
  renderRetention(xml, 'RetentionPolicy', logging.retention);
  xml.close();
}

function renderBlobParts(xml: XmlWriter, properties: ServiceProperties): void {
  xml.leafIf('DefaultServiceVersion', properties.defaultServiceVersion);
  renderDeleteRetention(xml, properties.deleteRetention);
  renderStaticWebsite(xml, properties.staticWebsite);
}

function renderDeleteRetention(xml: XmlWriter, { enabled, days, allowPermanentDelete }: DeleteRetention): void {
  xml.open('DeleteRetentionPolicy').leaf('Enabled', enabled).leafIf('Days', days);
  xml.leafIf('AllowPermanentDelete', allowPermanentDelete).close();
}

function renderStaticWebsite(xml: XmlWriter, site: StaticWebsite): void {
  xml
    .open('StaticWebsite')
    .leaf('Enabled', site.enabled)
    .leafIf('IndexDocument', site.indexDocument)
    .leafIf('DefaultIndexDocumentPath', site.defaultIndexDocumentPath)
    .leafIf('ErrorDocument404Path', site.errorDocument404Path)
    .close();
}

function renderFileParts(xml: XmlWriter, { shareDeleteRetention, smb, nfs }: ServiceProperties): void {
  renderRetention(xml, 'ShareDeleteRetentionPolicy', shareDeleteRetention);
  xml
    .open('ProtocolSettings')
    .open('SMB')
    .open('Multichannel')
    .leaf('Enabled', smb.multichannel ?? false)
    .close();
  for (const [name, list] of SMB_LISTS) {
    const words = smb[list] ?? [];
    if (words.length > 0) xml.leaf(name, words.join(';'));
  }
  renderEncryption(xml, smb);
  xml.close();
  if (nfs.encryptionRequired !== undefined) {
    renderEncryption(xml.open('NFS'), nfs);
    xml.close();
  }
  xml.close();
}

function renderEncryption(xml: XmlWriter, { encryptionRequired }: NfsSettings): void {
  if (encryptionRequired !== undefined) xml.open('EncryptionInTransit').leaf('Required', encryptionRequired).close();
}

function renderMetrics(xml: XmlWriter, name: string, metrics: Metrics): void {
  xml.open(name).leaf('Version', metrics.version).leaf('Enabled', metrics.enabled);
  xml.leafIf('IncludeAPIs', metrics.includeApis);
  renderRetention(xml, 'RetentionPolicy', metrics.retention);
  xml.close();
}

function renderRetention(xml: XmlWriter, name: string, retention: RetentionPolicy): void {
  xml.open(name).leaf('Enabled', retention.enabled).leafIf('Days', retention.days).close();
}

function renderCors(xml: XmlWriter, rules: readonly CorsRule[]): void {
  xml.open('Cors');
  for (const rule of rules) {
    xml
      .open('CorsRule')
      .leaf('AllowedOrigins', rule.allowedOrigins.join(','))
      .leaf('AllowedMethods', rule.allowedMethods.join(','))
      .leaf('AllowedHeaders', rule.allowedHeaders.join(','))
      .leaf('ExposedHeaders', rule.exposedHeaders.join(','))
      .leaf('MaxAgeInSeconds', rule.maxAgeSeconds)
      .close();
  }
  xml.close();
}
