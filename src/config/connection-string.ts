/** What clients are told: where a server is reached on this machine, and the connection string for one of its accounts. */

/** A server that listens everywhere is reached on this machine by its loopback address. */
export const reachable = (origin: string): string =>
  origin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

export function renderConnectionString(account: { name: string; key: string; blobEndpoint: string }): string {
  const protocol = account.blobEndpoint.slice(0, account.blobEndpoint.indexOf(':'));
  return (
    `DefaultEndpointsProtocol=${protocol};AccountName=${account.name};` +
    `AccountKey=${account.key};BlobEndpoint=${account.blobEndpoint};`
  );
}
