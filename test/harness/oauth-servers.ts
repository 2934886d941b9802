/**
 * Servers that take the bearer tokens of one real, if tiny, issuer, plain or over TLS: for one file of tests, at whose end
 * all of it is closed and removed. A token is judged by the clock that the test moves.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ManualClock, type OAuthOptions, type RunningServer, type ServerOptions, startServer } from '../../src/main.ts';
import { SECOND_ACCOUNT } from './accounts.ts';
import { writeCertificate } from './certificate.ts';
import { freshPlace } from './engines.ts';
import { OAuthIssuer } from './oauth-issuer.ts';

export interface OAuthServers {
  readonly clock: ManualClock;
  readonly issuer: OAuthIssuer;
  readonly oauth: OAuthOptions;
  /** With the second account. */
  readonly startWith: (options: Pick<ServerOptions, 'oauth' | 'tls'>) => Promise<RunningServer>;
  /** On `localhost`, with a certificate that clients are to be told of. */
  readonly startOverTls: () => Promise<{ readonly server: RunningServer; readonly ca: Buffer }>;
  /** So many seconds from now. */
  readonly inSeconds: (seconds: number) => Date;
}

export async function oauthServers(): Promise<OAuthServers> {
  const clock = new ManualClock();
  const issuer = await new OAuthIssuer().start();
  const oauth: OAuthOptions = { issuer: issuer.url, keysCooldownSeconds: 0 };
  const endings: (() => Promise<void>)[] = [() => issuer.stop()];
  after(async () => {
    for (const end of endings.toReversed()) await end();
  });
  const startWith = async (options: Pick<ServerOptions, 'oauth' | 'tls'>): Promise<RunningServer> => {
    const place = await freshPlace();
    endings.push(() => place.remove());
    const accounts = [{ name: SECOND_ACCOUNT.name, keys: [SECOND_ACCOUNT.key] }];
    const server = await startServer({ ...place.store, accounts, clock, ...options });
    endings.push(() => server.close());
    return server;
  };
  const startOverTls: OAuthServers['startOverTls'] = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'larimar-oauth-'));
    endings.push(() => rm(folder, { recursive: true }));
    const { certFile, keyFile } = writeCertificate(folder, 'localhost');
    const [cert, key] = [await readFile(certFile), await readFile(keyFile)];
    return { server: await startWith({ oauth, tls: { cert, key } }), ca: cert };
  };
  const inSeconds = (seconds: number): Date => new Date(clock.nowMs() + seconds * 1000);
  return { clock, issuer, oauth, startWith, startOverTls, inSeconds };
}

/** What a TokenCredential of the SDK does: hands out one token, whatever it is asked for. */
export const credentialOf = (token: string) => ({
  getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }),
});
