import { SERVE_OPTIONS } from '../config/config.ts';
import { renderOptions } from '../config/options.ts';

export const renderHelp = (): string => `Larimar: an Azure Storage server that you run yourself

Usage
  larimar [serve] [options]     start the server
  larimar check [--data DIR | --engine postgres://… --content …]
                                verify a store that no server is using; exit code 0: clean, 1: something is wrong
  larimar --help | --version

Options of serve (each also as an environment variable)
${renderOptions(SERVE_OPTIONS)}

Examples
  larimar                                                     on 127.0.0.1, in ./larimar-data
  larimar --memory --blob-port 0 --admin-port 0 --web-port 0  for a test run, on any free ports
  larimar --account team:$(openssl rand -base64 64 | tr -d '\\n') --host 0.0.0.0 --cert tls.crt --key tls.key

Several nodes over one store: the same on each machine, and before them a load balancer that asks /ready
  export LARIMAR_ENGINE=postgres://larimar:PASSWORD@db.example/larimar
  export LARIMAR_CONTENT='s3://KEY:SECRET@bucket?endpoint=https://s3.example'    # or postgres: in the database too
  export LARIMAR_ACCOUNTS=team:KEY
  larimar --host 0.0.0.0 --drain-seconds 10

Files over SMB: the user is the account, the password its key
  sudo mount -t cifs -o port=10445,user=devstoreaccount1,password=KEY //127.0.0.1/SHARE /mnt
  smbclient -p 10445 -U devstoreaccount1%KEY //127.0.0.1/SHARE
  net use Z: \\\\HOST\\SHARE KEY /user:devstoreaccount1 /tcpport:10445    Windows 11 24H2, Server 2025 and newer
  Older Windows takes port 445 only, which needs a right of its own, or a redirection to the other port:
  sudo setcap cap_net_bind_service=+ep "$(readlink -f "$(which node)")" && larimar --smb-port 445
  sudo iptables -t nat -A PREROUTING -p tcp --dport 445 -j REDIRECT --to-ports 10445

Connect any Azure SDK with UseDevelopmentStorage=true, or with the connection string that serve prints.`;
