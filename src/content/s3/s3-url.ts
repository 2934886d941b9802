/**
 * Where an S3 store lies, as one text: `s3://KEY:SECRET@bucket/prefix?endpoint=http://host:port&region=us-east-1`.
 * What is not in it comes from the environment, by the names that other S3 clients use. What is wrong with it is said
 * without repeating any of it: a misplaced character can make every part of it the secret.
 */

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3Place {
  readonly endpoint: URL;
  /** Whether the endpoint is Amazon's own, and was not given. */
  readonly isAmazon: boolean;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or ends in a slash. */
  readonly prefix: string;
  /** Null where neither the URL nor the environment has any. */
  readonly credentials: S3Credentials | null;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const FORM = 's3://KEY:SECRET@bucket/prefix?endpoint=http://host:port&region=us-east-1';
const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region']);
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/;
const REGION = /^[A-Za-z0-9-]{1,64}$/;
/** What needs no encoding in a URL, so that a key is signed and sent as it is. */
const PREFIX_PART = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/;

export function parseS3Url(text: string, environment: Environment): S3Place {
  const url = parseOrNull(text);
  if (url === null) {
    throw wrong(
      `This is not a URL of the form ${FORM}; write / + @ : ? # and % in the key and secret as %2F %2B and so on.`,
    );
  }
  if (url.protocol !== 's3:') throw wrong(`It must begin with s3://, as in ${FORM}.`);
  if (url.port !== '') throw wrong('A bucket has no port: name the server with ?endpoint=http://host:port.');
  if (url.hash !== '') throw wrong('It contains a #; write a # in the secret as %23.');
  if (!BUCKET.test(url.hostname)) throw wrong(`Name a bucket of letters, digits, dots and hyphens: ${FORM}.`);
  if ([...url.searchParams.keys()].some((name) => !PARAMETERS.has(name))) {
    throw wrong('After the ?, only endpoint=http://host:port and region=us-east-1 are allowed, joined by &.');
  }
  const region = regionOf(url, environment);
  const given = url.searchParams.get('endpoint');
  return {
    endpoint: given === null ? new URL(`https://s3.${region}.amazonaws.com`) : parseEndpoint(given),
    isAmazon: given === null,
    region,
    bucket: url.hostname,
    prefix: prefixOf(url),
    credentials: credentialsIn(url) ?? credentialsFrom(environment),
  };
}

const wrong = (sentence: string): Error => new Error(`The S3 URL is wrong. ${sentence}`);

function parseOrNull(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function parseEndpoint(text: string): URL {
  const endpoint = parseOrNull(text);
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol)) {
    throw wrong('Write the endpoint as endpoint=http://host:port or endpoint=https://host.');
  }
  const isBare = [endpoint.username, endpoint.password, endpoint.search, endpoint.hash].every((part) => part === '');
  if (!isBare) throw wrong('The endpoint is a host, with a port and a path if needed; the key goes before the bucket.');
  return endpoint;
}

function regionOf(url: URL, environment: Environment): string {
  const region = url.searchParams.get('region') ?? nonEmpty(environment['AWS_REGION']) ?? 'us-east-1';
  if (!REGION.test(region)) throw wrong('Write the region as region=us-east-1, in letters, digits and hyphens.');
  return region;
}

function prefixOf({ pathname }: URL): string {
  const path = pathname.replace(/^\//, '').replace(/\/$/, '');
  if (path === '') return '';
  if (!path.split('/').every((part) => PREFIX_PART.test(part))) {
    throw wrong('Write the prefix after the bucket in letters, digits, dots, hyphens, underscores and single slashes.');
  }
  return `${path}/`;
}

function credentialsIn({ username, password }: URL): S3Credentials | null {
  if (username === '' && password === '') return null;
  if (username === '' || password === '') throw wrong(`Write both the key and its secret before the bucket: ${FORM}.`);
  try {
    return { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) };
  } catch {
    throw wrong('Write a % in the key or the secret as %25.');
  }
}

function credentialsFrom(environment: Environment): S3Credentials | null {
  const accessKeyId = nonEmpty(environment['AWS_ACCESS_KEY_ID']);
  const secretAccessKey = nonEmpty(environment['AWS_SECRET_ACCESS_KEY']);
  const sessionToken = nonEmpty(environment['AWS_SESSION_TOKEN']);
  if (accessKeyId === null || secretAccessKey === null) return null;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
}

const nonEmpty = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text);
