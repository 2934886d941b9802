/** `npm run example -- NAME`: runs one of the examples in this folder. */
const EXAMPLES = {
  optimistic: () => import('./optimistic.ts'),
  pessimistic: () => import('./pessimistic.ts'),
  'container-lease': () => import('./container-lease.ts'),
  'leader-election': () => import('./leader-election.ts'),
  'table-optimistic': () => import('./table-optimistic.ts'),
  'table-lock': () => import('./table-lock.ts'),
  'competing-consumers': () => import('./competing-consumers.ts'),
  'poison-messages': () => import('./poison-messages.ts'),
  'extend-the-hold': () => import('./extend-the-hold.ts'),
  'file-lease': () => import('./file-lease.ts'),
  'share-snapshot': () => import('./share-snapshot.ts'),
  'two-doors': () => import('./two-doors.ts'),
};

const name = process.argv[2] ?? '';
if (Object.hasOwn(EXAMPLES, name)) {
  await EXAMPLES[name as keyof typeof EXAMPLES]();
} else {
  const names = Object.keys(EXAMPLES).map((one) => `  npm run example -- ${one}\n`);
  process.stderr.write(
    `${name === '' ? 'Name an example:' : `There is no example "${name}". Choose one of these:`}\n${names.join('')}`,
  );
  process.exitCode = 2;
}
