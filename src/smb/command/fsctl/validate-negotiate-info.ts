/**
 * VALIDATE_NEGOTIATE_INFO ([MS-SMB2] 3.3.5.15.12): the client asks, signed, whether NEGOTIATE came as it was sent. Where it
 * did not, somebody stands in between, and the connection ends.
 */
import type { Connection } from '../../session/connection.ts';
import { DIALECTS, type Negotiated } from '../../session/protocol.ts';
import { SmbError, Status } from '../../statuses.ts';
import {
  decodeNegotiateInfo,
  encodeNegotiateInfo,
  NEGOTIATE_INFO_BYTES,
  type NegotiateInfo,
} from '../../wire/negotiate-info.ts';
import { decodeOrRefuse } from '../decode-or-refuse.ts';
import { answer, type Fsctl, refuseFile } from './fsctl.ts';

export const validateNegotiateInfo: Fsctl = ({ connection, door }, request) => {
  refuseFile(request);
  const { negotiated } = connection;
  if (negotiated === null || request.outputBytesMax < NEGOTIATE_INFO_BYTES) throw end(connection);
  const info = decodeOrRefuse(() => decodeNegotiateInfo(request.input));
  if (!isAsNegotiated(info, negotiated)) throw end(connection);
  return answer(encodeNegotiateInfo({ ...negotiated, serverGuid: door.serverGuid }));
};

function isAsNegotiated(info: NegotiateInfo, negotiated: Negotiated): boolean {
  return (
    info.capabilities === negotiated.clientCapabilities &&
    info.clientGuid === negotiated.clientGuid &&
    info.securityMode === negotiated.clientSecurityMode &&
    DIALECTS.find((dialect) => info.dialects.includes(dialect)) === negotiated.dialect
  );
}

function end(connection: Connection): SmbError {
  connection.destroy('NEGOTIATE was altered between the client and the server');
  return new SmbError(Status.ACCESS_DENIED);
}
