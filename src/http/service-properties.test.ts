import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEFAULT_PROPERTIES, type ServiceProperties } from '../service/service-properties.ts';
import { StorageError } from '../service/storage-error.ts';
import { parseServiceProperties, renderServiceProperties } from './service-properties.ts';

const LOGGING =
  '<Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>';
const WHOLE_SMB = [
  '<Multichannel><Enabled>true</Enabled></Multichannel>',
  '<Versions>SMB3.0;SMB3.1.1</Versions>',
  '<AuthenticationMethods>Kerberos</AuthenticationMethods>',
  '<KerberosTicketEncryption>AES-256</KerberosTicketEncryption>',
  '<ChannelEncryption>AES-128-GCM;AES-256-GCM</ChannelEncryption>',
  '<EncryptionInTransit><Required>true</Required></EncryptionInTransit>',
].join('');

const parse = (parts: string): Partial<ServiceProperties> =>
  parseServiceProperties(Buffer.from(`<StorageServiceProperties>${parts}</StorageServiceProperties>`), 'f');

const smb = (settings: string): string => `<ProtocolSettings><SMB>${settings}</SMB></ProtocolSettings>`;

function refusalOf(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return error.code;
  }
}

describe('properties of the File service', () => {
  test('are metrics, rules, retention of shares and protocols, in this order and without logging', () => {
    const names = [...renderServiceProperties(DEFAULT_PROPERTIES, 'f').matchAll(/<(\w+)[ >]/g)].map(([, name]) => name);
    const parts = ['HourMetrics', 'MinuteMetrics', 'Cors', 'ShareDeleteRetentionPolicy', 'ProtocolSettings'];
    assert.deepEqual(
      names.filter((name) => parts.includes(name as string)),
      parts,
    );
    assert.ok(!names.includes('Logging'));
    assert.ok(!names.includes('DeleteRetentionPolicy'));
  });

  test('can be set as they were read', () => {
    const properties: ServiceProperties = {
      ...DEFAULT_PROPERTIES,
      shareDeleteRetention: { enabled: true, days: 7 },
      ...parse(smb(WHOLE_SMB)),
      nfs: { encryptionRequired: false },
    };
    for (const each of [DEFAULT_PROPERTIES, properties]) {
      const xml = renderServiceProperties(each, 'f');
      const parsed = parseServiceProperties(Buffer.from(xml), 'f');
      const { logging: _, ...rest } = { ...each, ...parsed };
      assert.equal(renderServiceProperties({ ...DEFAULT_PROPERTIES, ...rest }, 'f'), xml);
    }
    assert.ok(renderServiceProperties(properties, 'f').includes(`<SMB>${WHOLE_SMB}</SMB><NFS>`));
  });

  for (const days of [1, 365]) {
    test(`keep deleted shares for ${days} days where that is asked`, () => {
      const policy = `<Enabled>true</Enabled><Days>${days}</Days>`;
      const change = parse(`<ShareDeleteRetentionPolicy>${policy}</ShareDeleteRetentionPolicy>`);
      assert.deepEqual(change, { shareDeleteRetention: { enabled: true, days } });
    });
  }

  for (const text of ['SMB3.0,SMB3.1.1', 'SMB3.0;SMB3.1.1', ' smb3.0 ; SMB3.1.1; ']) {
    test(`take a list as ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parse(smb(`<Versions>${text}</Versions>`)), { smb: { versions: ['SMB3.0', 'SMB3.1.1'] } });
    });
  }

  test('take an empty list for all there is', () => {
    assert.deepEqual(parse(smb('<Versions/>')), { smb: { versions: [] } });
    assert.ok(!renderServiceProperties({ ...DEFAULT_PROPERTIES, smb: { versions: [] } }, 'f').includes('Versions'));
  });

  for (const [part, want] of [
    [LOGGING, 'InvalidXmlDocument'],
    ['<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>', 'InvalidXmlDocument'],
    ['<StaticWebsite><Enabled>false</Enabled></StaticWebsite>', 'InvalidXmlDocument'],
    ['<ShareDeleteRetentionPolicy><Enabled>true</Enabled></ShareDeleteRetentionPolicy>', 'MissingRequiredXmlNode'],
    ['<ShareDeleteRetentionPolicy><Days>5</Days></ShareDeleteRetentionPolicy>', 'MissingRequiredXmlNode'],
    [
      '<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>0</Days></ShareDeleteRetentionPolicy>',
      'InvalidXmlNodeValue',
    ],
    [
      '<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>366</Days></ShareDeleteRetentionPolicy>',
      'InvalidXmlNodeValue',
    ],
    ['<ProtocolSettings><FTP/></ProtocolSettings>', 'InvalidXmlDocument'],
    [smb('<Version>SMB3.0</Version>'), 'InvalidXmlDocument'],
    [smb('<Versions>SMB1</Versions>'), 'InvalidXmlNodeValue'],
    [smb('<AuthenticationMethods>NTLMv1</AuthenticationMethods>'), 'InvalidXmlNodeValue'],
    [smb('<KerberosTicketEncryption>DES</KerberosTicketEncryption>'), 'InvalidXmlNodeValue'],
    [smb('<ChannelEncryption>AES-256-GCM;NONE</ChannelEncryption>'), 'InvalidXmlNodeValue'],
    [smb('<Multichannel/>'), 'MissingRequiredXmlNode'],
    [smb('<Multichannel><Enabled>yes</Enabled></Multichannel>'), 'InvalidXmlNodeValue'],
    [smb('<EncryptionInTransit/>'), 'MissingRequiredXmlNode'],
    ['<ProtocolSettings><NFS><Versions>4.1</Versions></NFS></ProtocolSettings>', 'InvalidXmlDocument'],
  ] as const) {
    test(`are refused with ${want} for ${part.slice(0, 90)}`, () => {
      assert.equal(
        refusalOf(() => parse(part)),
        want,
      );
    });
  }
});

test('what only the File service has is refused by the others, which have logging', () => {
  const retention = '<ShareDeleteRetentionPolicy><Enabled>false</Enabled></ShareDeleteRetentionPolicy>';
  for (const service of ['b', 'q', 't'] as const) {
    const parseThere = (parts: string) => () =>
      parseServiceProperties(Buffer.from(`<StorageServiceProperties>${parts}</StorageServiceProperties>`), service);
    for (const part of [retention, smb('')]) assert.equal(refusalOf(parseThere(part)), 'InvalidXmlDocument');
    assert.equal(refusalOf(parseThere(LOGGING)), null);
    const xml = renderServiceProperties(DEFAULT_PROPERTIES, service);
    assert.ok(xml.includes('<Logging>') && !xml.includes('ProtocolSettings') && !xml.includes('ShareDelete'));
  }
});
