/**
 * After a restart: whether every share that was used over SMB is in a state that the journal allows, to the byte, and whether the
 * opens of those days are gone: nobody lists them, and what was open can be had alone, and deleted.
 */
import type { ShareClient } from '@azure/storage-file-share';
import { shareClient } from '../harness/file-clients.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { OPEN, SHARES_NOTHING, WireShare } from '../harness/wire-share.ts';
import { type ReadNode, type ReadTree, readTree } from './file-verify.ts';
import { type SmbKnown, type SmbShareEntry, type SmbTree, writesProblem } from './smb-journal.ts';

export class SmbVerification {
  readonly #server: ServerProcess;
  readonly findings: string[] = [];
  /** How many shares were found as a request under way at the crash had left them. */
  tookEffectCount = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  async share(entry: SmbShareEntry): Promise<void> {
    const { name, account } = entry;
    const client = shareClient(this.#server, name, account);
    await this.#opens(client);
    const read = await readTree(client);
    const problems = (entry.writes.length > 0 ? [] : entry.pending).map((tree) => treeProblem(tree, entry, read));
    problems.unshift(treeProblem(entry.acknowledged, entry, read));
    if (problems.every((problem) => problem !== null)) {
      const sentence = problems.join('; and as the request under way would have left it: ');
      this.findings.push(`SMB share ${name}: ${sentence}`);
    }
    if (problems[0] !== null || entry.writes.some(({ isAcknowledged }) => !isAcknowledged)) this.tookEffectCount += 1;
    entry.acknowledged = asRead(read);
    entry.pending = [];
    entry.writes = [];
    await this.#use(entry, client);
    entry.opened.clear();
  }

  async #opens(client: ShareClient): Promise<void> {
    const paths: string[] = [];
    for await (const { path } of client.rootDirectoryClient.listHandles({ recursive: true })) paths.push(path);
    if (paths.length > 0) this.findings.push(`SMB share ${client.name}: ${paths.join()} open after a restart`);
  }

  async #use(entry: SmbShareEntry, client: ShareClient): Promise<void> {
    const share = await WireShare.connect(this.#server, entry.name, entry.account);
    const isFile = (path: string): boolean => entry.acknowledged.get(path)?.kind === 'file';
    const opened = [...entry.opened].filter(isFile);
    for (const path of opened) await share.with(path, { disposition: OPEN, share: SHARES_NOTHING }, async () => {});
    share.leave();
    const [first] = opened;
    if (first === undefined) return;
    await client.rootDirectoryClient.deleteFile(first);
    entry.acknowledged = new Map([...entry.acknowledged].filter(([path]) => path !== first));
  }
}

function treeProblem(wanted: SmbTree, entry: SmbShareEntry, read: ReadTree): string | null {
  for (const path of read.keys()) if (!wanted.has(path)) return `${path} is there`;
  for (const [path, node] of wanted) {
    const found = read.get(path) ?? null;
    const problem = found === null ? 'is missing' : nodeProblem(path, node, { entry, found });
    if (problem !== null) return `${path} ${problem}`;
  }
  return null;
}

function nodeProblem(
  path: string,
  node: SmbKnown,
  { entry, found }: { entry: SmbShareEntry; found: ReadNode },
): string | null {
  if ((found.bytes === null) !== (node.kind === 'directory')) return `is no ${node.kind}`;
  if (node.kind === 'directory' || found.bytes === null) return null;
  if (node.hasNewEtag && found.etag === node.seenEtag) return `has still the ETag ${found.etag}`;
  const writes = entry.writes.filter((write) => write.path === path);
  return writesProblem(node.bytes, writes, found.bytes);
}

const asRead = (read: ReadTree): SmbTree =>
  new Map(
    [...read].map(([path, { bytes, etag = null }]): [string, SmbKnown] => [
      path,
      bytes === null ? { kind: 'directory' } : { kind: 'file', bytes, seenEtag: etag, hasNewEtag: false },
    ]),
  );
