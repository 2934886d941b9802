/**
 * Self-signed certificates for tests over TLS, made by Node alone: a program that trusts one as its root trusts the server
 * that presents it. Just enough of X.509 (RFC 5280) in DER for that.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

export interface Certificate {
  /** PEM. */
  readonly cert: Buffer;
  /** PEM. */
  readonly key: Buffer;
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

const DAY_MS = 86_400_000;

const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, time: 0x17, sequence: 0x30, set: 0x31 };
const COMMON_NAME = '550403';
const SUBJECT_ALTERNATIVE_NAME = '551d11';
const BASIC_CONSTRAINTS = '551d13';
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const VERSION_3 = '020102';
const IS_AUTHORITY = '30030101ff';

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const { length } = body;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), body]);
}

const sequence = (...contents: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...contents);
const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const oid = (text: string): Buffer => der(TAG.oid, hex(text));
/** A tag whose meaning the place gives it. */
const inContext = (number: number, ...contents: readonly Uint8Array[]): Buffer => der(0xa0 | number, ...contents);
const bits = (bytes: Uint8Array): Buffer => der(TAG.bits, Buffer.from([0]), bytes);

/** YYMMDDHHMMSSZ. */
const time = (ms: number): Buffer =>
  der(TAG.time, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`));

const extension = (id: string, value: Uint8Array): Buffer => sequence(oid(id), der(TAG.octets, value));

function alternativeName(host: string): Buffer {
  const [DNS_NAME, IP_ADDRESS] = [0x82, 0x87];
  return isIP(host) === 4
    ? der(IP_ADDRESS, Buffer.from(host.split('.').map(Number)))
    : der(DNS_NAME, Buffer.from(host));
}

/** For these host names and IPv4 addresses, the first of which is also the subject; valid for two days around now. */
export function makeCertificate(...hosts: readonly [string, ...string[]]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const name = sequence(der(TAG.set, sequence(oid(COMMON_NAME), der(TAG.utf8, Buffer.from(hosts[0])))));
  const serial = Buffer.from([1, ...randomBytes(8)]);
  const nowMs = Date.now();
  const body = sequence(
    inContext(0, hex(VERSION_3)),
    der(TAG.integer, serial),
    algorithm,
    name,
    sequence(time(nowMs - DAY_MS), time(nowMs + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    inContext(
      3,
      sequence(
        extension(SUBJECT_ALTERNATIVE_NAME, sequence(...hosts.map(alternativeName))),
        extension(BASIC_CONSTRAINTS, hex(IS_AUTHORITY)),
      ),
    ),
  );
  const whole = sequence(body, algorithm, bits(sign('sha256', body, privateKey)));
  const lines = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return {
    cert: Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`),
    key: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

/** For programs, which read files. */
export function writeCertificate(folder: string, host: string): CertificateFiles {
  const { cert, key } = makeCertificate(host);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return { certFile, keyFile };
}
