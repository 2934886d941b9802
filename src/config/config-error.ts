/** Something the user set is wrong; the message says what, and what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
