import { SERVE_OPTIONS } from '../config/config.ts';
import { renderOptions } from '../config/options.ts';

export const renderHelp = (): string => `Larimar: an Azure Storage server that you run yourself

Usage
  larimar [serve] [options]     start the server
  larimar check [--data DIR]    verify a data folder; exit code 0: clean, 1: something is wrong
  larimar --help | --version

Options of serve (each also as an environment variable)
${renderOptions(SERVE_OPTIONS)}

Examples
  larimar                                        on 127.0.0.1, in ./larimar-data
  larimar --memory --blob-port 0                 for a test run
  larimar --account team:$(openssl rand -base64 64 | tr -d '\\n') --host 0.0.0.0 --cert tls.crt --key tls.key

Connect any Azure SDK with UseDevelopmentStorage=true, or with the connection string that serve prints.`;
