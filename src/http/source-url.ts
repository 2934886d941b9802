/** URLs of sources, as headers have them. */

/**
 * Without what may be a secret: a password, and what follows the path, which may be a signature. Found from both ends: a
 * pattern would begin anew at each of a thousand slashes.
 */
export function withoutSecrets(url: string): string {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const slashes = path.indexOf('//');
  const at = path.lastIndexOf('@');
  return slashes < 0 || at < slashes ? path : `${path.slice(0, slashes)}//${path.slice(at + 1)}`;
}
