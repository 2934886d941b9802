/**
 * A script against one of Microsoft's Python libraries as Debian packages them, run once per account. Each of its checks is
 * an `assert`, so that its exit code is the verdict.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { tool } from './tool.ts';

/** Debian's own: a Python from elsewhere does not see Debian's packages. */
const PYTHON = '/usr/bin/python3';

/** A script may say anew where an error has its code. */
const REFUSED = `
code_of = lambda error: error.error_code

def refused(kind, code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert code_of(error) == code, (code_of(error), code)
    else:
        raise AssertionError('should have been refused with ' + code)
`;

export interface PythonStory {
  /** Why not, if not. */
  readonly skip: string | false;
  /** A sentence without its end: "queues and messages work". */
  readonly story: string;
  /** May call `refused(kind, code, call, *args, **kwargs)`; finds CONNECTION_STRING, ENDPOINT, ACCOUNT and KEY in its environment. */
  readonly script: string;
  readonly endpoint: (server: ServerProcess, account: TestAccount) => string;
}

export function tellPythonStory(library: string, { skip, story, script, endpoint }: PythonStory): void {
  describe(library, { skip }, () => {
    let folder: string;
    let server: ServerProcess;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'larimar-python-'));
      await writeFile(join(folder, 'story.py'), REFUSED + script);
      server = await startServerProcess({ accounts: [SECOND_ACCOUNT] });
    });
    after(async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    });

    for (const account of [DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT]) {
      test(`${story} as ${account.name}`, async () => {
        const env = {
          CONNECTION_STRING: server.connectionString(account),
          ENDPOINT: endpoint(server, account),
          ACCOUNT: account.name,
          KEY: account.key,
        };
        await tool(PYTHON, { cwd: folder, env }).succeed('story.py');
      });
    }
  });
}
