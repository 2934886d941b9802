/** An option is wrong. The message says what is wrong and what to do about it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
