/**
 * Where the destination of a rename is. The JavaScript client makes its URL from the share's name alone: where the account
 * stands in the path and not in the host's name, it is missing (`/share/file?comp=rename`), and the request is signed like
 * that. The source, a whole URL, names it.
 */
import type { Exchange } from '../exchange.ts';
import { type AccountNames, type AddressedTarget, parseRequestTarget } from '../request-target.ts';

export function targetOfRename(
  exchange: Pick<Exchange, 'header'>,
  target: AddressedTarget,
  accounts: AccountNames,
): AddressedTarget {
  if (target.hostStyle || accounts.has(target.account) || target.query.get('comp') !== 'rename') return target;
  const account = accountOfSource(exchange, accounts);
  if (account === null) return target;
  return { ...target, account, secondary: false, hostStyle: true, resourcePath: target.rawPath.slice(1) };
}

/** Null where there is none: what is wrong with the header is told when the rename is read. */
function accountOfSource(exchange: Pick<Exchange, 'header'>, accounts: AccountNames): string | null {
  try {
    const { host, pathname } = new URL(exchange.header('x-ms-file-rename-source') ?? '');
    const { account } = parseRequestTarget({ url: pathname, host, accounts });
    return accounts.has(account) ? account : null;
  } catch {
    return null;
  }
}
