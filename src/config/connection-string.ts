/** What clients are told: where a server is reached on this machine, and the connection string for one of its accounts. */

/** A server that listens everywhere is reached on this machine by its loopback address. */
export const reachable = (origin: string): string =>
  origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

export interface Endpoints {
  readonly blob: string;
  readonly queue: string;
  readonly table: string;
  readonly file: string;
}

export function renderConnectionString(account: { name: string; key: string; endpoints: Endpoints }): string {
  const { name, key, endpoints } = account;
  const protocol = endpoints.blob.slice(0, endpoints.blob.indexOf(':'));
  return (
    `DefaultEndpointsProtocol=${protocol};AccountName=${name};AccountKey=${key};` +
    `BlobEndpoint=${endpoints.blob};QueueEndpoint=${endpoints.queue};TableEndpoint=${endpoints.table};` +
    `FileEndpoint=${endpoints.file};`
  );
}
