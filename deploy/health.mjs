/** The image's health check: exit code 0 when the node's admin port answers /health. Finds the port as the node does. */
const { LARIMAR_ADMIN_PORT = '10004', LARIMAR_CERT = '' } = process.env;
// The certificate is for the name that clients know, not for this address.
if (LARIMAR_CERT !== '') process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';

try {
  const answer = await fetch(`${LARIMAR_CERT === '' ? 'http' : 'https'}://127.0.0.1:${LARIMAR_ADMIN_PORT}/health`);
  process.exitCode = answer.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
