import { SERVE_OPTIONS } from '../config/config.ts';
import { renderOptions } from '../config/options.ts';

export const renderHelp = (): string => `Larimar: an Azure Storage server that you run yourself

Usage
  larimar [serve] [options]     start the server
  larimar check [--data DIR | --engine postgres://… --content …]
                                verify a store that no server is using; exit code 0: clean, 1: problems found
  larimar --help | --version

Options of serve, with their defaults in [brackets] and their environment variables in (parentheses)
${renderOptions(SERVE_OPTIONS)}

Examples
  # Listen on 127.0.0.1 and store in ./larimar-data
  larimar
  # For a test run: listen on free ports and store nothing on disk
  larimar --memory --blob-port 0 --queue-port 0 --table-port 0 --file-port 0 --smb-port 0 --admin-port 0 --web-port 0
  # For other machines: add an account of your own, and use HTTPS
  larimar --account team:$(openssl rand -base64 64 | tr -d '\\n') --host 0.0.0.0 --cert tls.crt --key tls.key

Several nodes that share one store: run this on each machine, behind a load balancer that checks /ready
  export LARIMAR_ENGINE=postgres://larimar:PASSWORD@db.example/larimar
  export LARIMAR_CONTENT='s3://KEY:SECRET@bucket?endpoint=https://s3.example'    # or postgres, for the same database
  export LARIMAR_ACCOUNTS=team:KEY
  larimar --host 0.0.0.0 --drain-seconds 10

Files over SMB: the user name is the account, and the password is its key
  sudo mount -t cifs -o port=10445,user=devstoreaccount1,password=KEY //127.0.0.1/SHARE /mnt
  smbclient -p 10445 -U devstoreaccount1%KEY //127.0.0.1/SHARE
  net use Z: \\\\HOST\\SHARE KEY /user:devstoreaccount1 /tcpport:10445    (Windows 11 24H2, Server 2025 and later)
  Older versions of Windows can use port 445 only. Let Node listen there, or redirect that port to the other one:
  sudo setcap cap_net_bind_service=+ep "$(readlink -f "$(which node)")" && larimar --smb-port 445
  sudo iptables -t nat -A PREROUTING -p tcp --dport 445 -j REDIRECT --to-ports 10445

To connect an Azure SDK, use UseDevelopmentStorage=true or the connection string that serve prints.`;
