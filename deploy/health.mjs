/**
 * The image's health check. It exits with 0 if the node's admin port answers /health, and with 1
 * otherwise. It reads the port from the same variable as the node.
 */
const { LARIMAR_ADMIN_PORT = '10004', LARIMAR_CERT = '' } = process.env;
// The certificate is issued for the name that clients use, not for 127.0.0.1.
if (LARIMAR_CERT !== '') process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';

try {
  const answer = await fetch(`${LARIMAR_CERT === '' ? 'http' : 'https'}://127.0.0.1:${LARIMAR_ADMIN_PORT}/health`);
  process.exitCode = answer.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
