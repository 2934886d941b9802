/** The bucket at start-up: found, or made where it is missing, or a sentence about why neither could be done. */
import { type S3Client, S3Refusal, type WholeAnswer } from './s3-client.ts';

export async function ensureBucket(client: S3Client): Promise<void> {
  const { bucket, endpoint } = client.place;
  const found = await look(client);
  if (found.status === 200) return;
  if (found.status !== 404) throw refusal(client, found);
  const made = await client.ask({ method: 'PUT', ...locationBody(client) });
  if (made.status < 300) return;
  // Another node may have made it in the meantime.
  if (made.status === 409 && (await look(client)).status === 200) return;
  const sentence = `the S3 server at ${endpoint.origin} has no bucket ${bucket} and does not create it: create it, or name another`;
  throw new S3Refusal(sentence, made);
}

/** One entry of a listing: a store must be allowed to ask for it, and unlike HEAD, the answer says why not. */
const look = (client: S3Client): Promise<WholeAnswer> =>
  client.ask({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1' } });

function refusal({ place }: S3Client, answer: WholeAnswer): S3Refusal {
  const where = `the S3 server at ${place.endpoint.origin}`;
  const bucketRegion = answer.headers['x-amz-bucket-region'];
  if (typeof bucketRegion === 'string' && bucketRegion !== place.region) {
    return new S3Refusal(`the bucket ${place.bucket} is in another region: write region=${bucketRegion}`, answer);
  }
  if (answer.status === 403) {
    const advice = 'check the access key, its secret and its permissions';
    return new S3Refusal(`${where} refuses access to the bucket ${place.bucket}: ${advice}`, answer);
  }
  return new S3Refusal(`${where} does not open the bucket ${place.bucket}`, answer);
}

/** Amazon's regions but the first want to be named; other servers know where they are. */
function locationBody({ place }: S3Client): { body: Uint8Array[] } | null {
  if (!place.isAmazon || place.region === 'us-east-1') return null;
  const location = `<LocationConstraint>${place.region}</LocationConstraint>`;
  const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
  const xml = `<CreateBucketConfiguration xmlns="${namespace}">${location}</CreateBucketConfiguration>`;
  return { body: [Buffer.from(xml)] };
}
