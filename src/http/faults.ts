/**
 * Errors as HTTP answers: the status and usual sentence of every code, and the XML body that Blob, Queue and File give.
 * https://learn.microsoft.com/rest/api/storageservices/status-and-error-codes2
 */
import { formatIso7 } from '../base/http-date.ts';
import type { ErrorCode } from '../rules/error-code.ts';
import { StorageError } from '../service/storage-error.ts';
import type { Reply, RequestTarget } from './exchange.ts';
import { XmlWriter } from './xml.ts';

export interface Fault {
  readonly status: number;
  readonly message: string;
}

const AUTHENTICATION_FAILED =
  'Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.';

export const FAULTS: Readonly<Record<ErrorCode, Fault>> = {
  AccountIsDisabled: { status: 403, message: 'The specified account is disabled.' },
  AuthenticationFailed: { status: 403, message: AUTHENTICATION_FAILED },
  AuthorizationFailure: { status: 403, message: 'This request is not authorized to perform this operation.' },
  AuthorizationPermissionMismatch: {
    status: 403,
    message: 'This request is not authorized to perform this operation using this permission.',
  },
  AuthorizationProtocolMismatch: {
    status: 403,
    message: 'This request is not authorized to perform this operation using this protocol.',
  },
  AuthorizationResourceTypeMismatch: {
    status: 403,
    message: 'This request is not authorized to perform this operation using this resource type.',
  },
  AuthorizationServiceMismatch: {
    status: 403,
    message: 'This request is not authorized to perform this operation using this service.',
  },
  AuthorizationSourceIPMismatch: {
    status: 403,
    message: 'This request is not authorized to perform this operation using this source IP.',
  },
  InsufficientAccountPermissions: {
    status: 403,
    message: 'The account being accessed does not have sufficient permissions to execute this operation.',
  },
  InvalidAuthenticationInfo: {
    status: 400,
    message: 'Authentication information is not given in the correct format. Check the value of Authorization header.',
  },
  NoAuthenticationInformation: {
    status: 401,
    message:
      'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.',
  },
  QueryParameterSasMandatory: {
    status: 403,
    message: 'A query parameter that this shared access signature needs is missing.',
  },
  QueryParameterSddInvalid: {
    status: 403,
    message: 'The directory depth (sdd) of the shared access signature is invalid.',
  },
  UnauthorizedBlobOverwrite: { status: 403, message: 'This request is not authorized to perform blob overwrites.' },

  AccessTierNotSupportedForBlobType: { status: 400, message: 'The access tier is not supported for this blob type.' },
  BothCrc64AndMd5HeaderPresent: {
    status: 400,
    message: 'Both x-ms-content-crc64 header and Content-MD5 header are present.',
  },
  BothUserTagsAndSourceTagsCopyPresentException: {
    status: 400,
    message: 'Tags cannot be given together with the option to copy the tags of the source.',
  },
  ConditionHeadersNotSupported: { status: 400, message: 'Condition headers are not supported.' },
  CopyAcrossAccountsNotSupported: {
    status: 400,
    message: 'The copy source account and destination account must be the same.',
  },
  CorsPreflightFailure: { status: 403, message: 'CORS not enabled or no matching rule found for this request.' },
  Crc64Mismatch: {
    status: 400,
    message: 'The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.',
  },
  DuplicateTagNames: { status: 400, message: 'The tags specified contain duplicate names.' },
  EmptyMetadataKey: { status: 400, message: 'The key for one of the metadata key-value pairs is empty.' },
  ErrorProcessingQueryExpression: { status: 400, message: 'The query expression cannot be processed.' },
  EmptyTagName: { status: 400, message: 'The name of one of the tag key-value pairs is empty.' },
  InvalidBlobOrBlock: { status: 400, message: 'The specified blob or block content is invalid.' },
  InvalidBlobTier: { status: 400, message: 'The specified blob tier is invalid.' },
  InvalidBlockId: { status: 400, message: 'The specified block ID is invalid. The block ID must be Base64-encoded.' },
  InvalidBlockList: { status: 400, message: 'The specified block list is invalid.' },
  InvalidHeaderValue: { status: 400, message: 'The value for one of the HTTP headers is not in the correct format.' },
  InvalidHttpVerb: { status: 400, message: 'The HTTP verb specified is invalid - it is not recognized by the server.' },
  InvalidInput: { status: 400, message: 'One of the request inputs is not valid.' },
  InvalidMd5: {
    status: 400,
    message: 'The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.',
  },
  InvalidMetadata: {
    status: 400,
    message: 'The metadata specified is invalid. It has characters that are not permitted.',
  },
  InvalidOperation: { status: 400, message: 'Invalid operation against a blob snapshot.' },
  InvalidPageRange: { status: 416, message: 'The page range specified is invalid.' },
  InvalidQueryParameterValue: {
    status: 400,
    message: 'Value for one of the query parameters specified in the request URI is invalid.',
  },
  InvalidRange: { status: 416, message: 'The range specified is invalid for the current size of the resource.' },
  InvalidResourceName: { status: 400, message: 'The specified resource name contains invalid characters.' },
  InvalidTag: {
    status: 400,
    message: 'The tags specified are invalid. They contain characters that are not permitted.',
  },
  InvalidUri: { status: 400, message: 'The requested URI does not represent any resource on the server.' },
  InvalidVersionForPageBlobOperation: {
    status: 400,
    message: 'All operations on page blobs require at least version 2009-09-19.',
  },
  InvalidXmlDocument: { status: 400, message: 'XML specified is not syntactically valid.' },
  InvalidXmlNodeValue: { status: 400, message: 'The value for one of the XML nodes is not in the correct format.' },
  BlockListTooLong: { status: 400, message: 'The block list may not contain more than 50,000 blocks.' },
  Md5Mismatch: {
    status: 400,
    message: 'The MD5 value specified in the request did not match with the MD5 value calculated by the server.',
  },
  MetadataTooLarge: { status: 400, message: 'The metadata specified exceeds the maximum allowable limit (8KB).' },
  MissingContentLengthHeader: { status: 411, message: 'Content-Length HTTP header is missing.' },
  MissingRequiredHeader: {
    status: 400,
    message: 'An HTTP header that is mandatory for this request is not specified.',
  },
  MissingRequiredQueryParameter: {
    status: 400,
    message: 'A query parameter that is mandatory for this request is not specified.',
  },
  MissingRequiredXmlNode: { status: 400, message: 'A required XML node was not specified in the request body.' },
  MultipleConditionHeadersNotSupported: { status: 400, message: 'Multiple condition headers are not supported.' },
  MutuallyExclusiveQueryParameters: {
    status: 400,
    message: 'Two query parameters specified in the request URI exclude each other.',
  },
  NotImplemented: { status: 501, message: 'This server does not offer the requested operation yet.' },
  OutOfRangeInput: { status: 400, message: 'One of the request inputs is out of range.' },
  OutOfRangeQueryParameterValue: {
    status: 400,
    message: 'One of the query parameters specified in the request URI is outside the permissible range.',
  },
  PreviousSnapshotCannotBeNewer: {
    status: 400,
    message: 'The prevsnapshot query parameter value cannot be newer than the snapshot query parameter value.',
  },
  RequestBodyTooLarge: {
    status: 413,
    message: 'The request body is too large and exceeds the maximum permissible limit.',
  },
  RequestUrlFailedToParse: { status: 400, message: 'The url in the request could not be parsed.' },
  TagsTooLarge: { status: 400, message: 'The tags specified exceed the maximum permissible limit.' },
  UnsatisfiableCondition: {
    status: 400,
    message: 'The request includes an unsatisfiable condition for this operation.',
  },
  UnsupportedHeader: { status: 400, message: 'One of the HTTP headers specified in the request is not supported.' },
  UnsupportedHttpVerb: { status: 405, message: "The resource doesn't support specified Http Verb." },
  UnsupportedQueryParameter: {
    status: 400,
    message: 'One of the query parameters specified in the request URI is not supported.',
  },
  UnsupportedXmlNode: { status: 400, message: 'One of the XML nodes specified in the request body is not supported.' },

  AtomFormatNotSupported: { status: 415, message: 'Atom format is not supported.' },
  CommandsInBatchActOnDifferentPartitions: {
    status: 400,
    message: 'All commands in a batch must operate on same entity group.',
  },
  DuplicatePropertiesSpecified: { status: 400, message: 'A property is specified more than one time.' },
  EntityTooLarge: { status: 400, message: 'The entity is larger than allowed by the Table Service.' },
  InvalidDuplicateRow: {
    status: 400,
    message:
      'The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.',
  },
  InvalidValueType: { status: 400, message: 'The value specified is invalid.' },
  KeyValueTooLarge: { status: 400, message: 'The key property is larger than allowed by the Table Service.' },
  MediaTypeNotSupported: { status: 415, message: 'The media type of the request is not supported.' },
  MethodNotAllowed: { status: 405, message: 'The requested method is not allowed on the specified resource.' },
  PropertiesNeedValue: { status: 400, message: 'The values are not specified for all properties in the entity.' },
  PropertyNameInvalid: { status: 400, message: 'The property name is invalid.' },
  PropertyNameTooLong: { status: 400, message: 'The property name exceeds the maximum allowed length.' },
  PropertyValueTooLarge: { status: 400, message: 'The property value exceeds the maximum allowed size.' },
  TooManyProperties: {
    status: 400,
    message: 'The entity contains more properties than allowed.',
  },
  XMethodIncorrectCount: { status: 400, message: 'Exactly one X-HTTP-Method header should be specified.' },
  XMethodIncorrectValue: { status: 400, message: 'The specified X-HTTP-Method is invalid.' },
  XMethodNotUsingPost: { status: 400, message: 'The request uses X-HTTP-Method with an HTTP method other than POST.' },

  InvalidMarker: { status: 400, message: 'The specified marker is invalid.' },

  AppendPositionConditionNotMet: { status: 412, message: 'The append position condition specified was not met.' },
  BlobAlreadyExists: { status: 409, message: 'The specified blob already exists.' },
  BlobArchived: { status: 409, message: 'This operation is not permitted on an archived blob.' },
  BlobBeingRehydrated: {
    status: 409,
    message: 'This operation is not permitted because the blob is being rehydrated.',
  },
  BlobCustomerSpecifiedEncryptionMismatch: {
    status: 409,
    message: 'The given customer specified encryption does not match the encryption used to encrypt the blob.',
  },
  BlobDoesNotUseCustomerSpecifiedEncryption: {
    status: 409,
    message: 'The blob is not encrypted with customer specified encryption, but it was provided in the request.',
  },
  BlobImmutableDueToLegalHold: {
    status: 409,
    message: 'This operation is not permitted as the blob is immutable due to one or more legal holds.',
  },
  BlobImmutableDueToPolicy: {
    status: 409,
    message: 'This operation is not permitted as the blob is immutable due to a policy.',
  },
  BlobIsSealed: {
    status: 409,
    message:
      'The specified blob is sealed and its contents cannot be modified unless the blob is re-created after a delete.',
  },
  BlobNotArchived: { status: 409, message: 'This blob is currently not in the archived state.' },
  BlobNotFound: { status: 404, message: 'The specified blob does not exist.' },
  BlobOverwritten: { status: 409, message: 'The blob has been recreated since the previous snapshot was taken.' },
  BlobSnapshotNotSoftDeleted: { status: 409, message: 'The specified snapshot or version is not soft-deleted.' },
  BlobTierInadequateForContentLength: {
    status: 409,
    message: 'The specified blob tier size limit cannot be less than content length.',
  },
  RequestForbiddenByContainerEncryptionPolicy: {
    status: 403,
    message: 'The container prescribes another encryption scope.',
  },
  BlobUsesCustomerSpecifiedEncryption: {
    status: 409,
    message: 'The blob is encrypted with customer specified encryption, but it was not provided in the request.',
  },
  BlockCountExceedsLimit: {
    status: 409,
    message: 'The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.',
  },
  CannotChangeToLowerTier: { status: 409, message: 'A higher blob tier has already been explicitly set.' },
  CannotVerifyCopySource: { status: 404, message: 'Could not verify the copy source.' },
  ConditionNotMet: { status: 412, message: 'The condition specified using HTTP conditional header(s) is not met.' },
  ContainerAlreadyExists: { status: 409, message: 'The specified container already exists.' },
  ContainerBeingDeleted: { status: 409, message: 'The specified container is being deleted. Try operation later.' },
  ContainerDisabled: { status: 409, message: 'The specified container has been disabled by the administrator.' },
  ContainerHasLegalHold: { status: 409, message: 'The specified container has one or more legal holds.' },
  ContainerImmutabilityPolicyLocked: {
    status: 409,
    message: 'The immutability policy of the specified container is locked.',
  },
  ContainerNotFound: { status: 404, message: 'The specified container does not exist.' },
  ContentLengthLargerThanTierLimit: { status: 409, message: "The blob's content length cannot exceed its tier limit." },
  CopyIdMismatch: {
    status: 409,
    message: 'The specified copy ID did not match the copy ID for the pending copy operation.',
  },
  DirectorySasNotSupportedVersion: {
    status: 409,
    message: 'A shared access signature for a directory is not supported by this version.',
  },
  EntityAlreadyExists: { status: 409, message: 'The specified entity already exists.' },
  FeatureVersionMismatch: {
    status: 409,
    message: 'The type of a blob in the container is unrecognized by this version.',
  },
  IncrementalCopyBlobMismatch: {
    status: 409,
    message: 'The specified source blob is different than the copy source of the existing incremental copy blob.',
  },
  IncrementalCopyOfEarlierVersionSnapshotNotAllowed: {
    status: 409,
    message: 'The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.',
  },
  IncrementalCopySourceMustBeSnapshot: {
    status: 409,
    message: 'The source for incremental copy request must be a snapshot.',
  },
  InfiniteLeaseDurationRequired: {
    status: 412,
    message: 'The lease ID matched, but the specified lease must be an infinite-duration lease.',
  },
  InvalidBlobType: { status: 409, message: 'The blob type is invalid for this operation.' },
  InvalidSourceBlobType: { status: 409, message: 'The copy source blob type is invalid for this operation.' },
  InvalidSourceBlobUrl: {
    status: 409,
    message: 'The source URL for incremental copy request must be valid Azure Storage blob URL.',
  },
  LeaseAlreadyPresent: { status: 409, message: 'There is already a lease present.' },
  LeaseIdMismatchWithBlobOperation: {
    status: 412,
    message: 'The lease ID specified did not match the lease ID for the blob.',
  },
  LeaseIdMismatchWithContainerOperation: {
    status: 412,
    message: 'The lease ID specified did not match the lease ID for the container.',
  },
  LeaseIdMismatchWithLeaseOperation: {
    status: 409,
    message: 'The lease ID specified did not match the lease ID for the resource with the specified lease operation.',
  },
  LeaseIdMissing: {
    status: 412,
    message: 'There is currently a lease on the resource and no lease ID was specified in the request.',
  },
  LeaseIsBreakingAndCannotBeAcquired: {
    status: 409,
    message:
      'The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.',
  },
  LeaseIsBreakingAndCannotBeChanged: {
    status: 409,
    message: 'The lease ID matched, but the lease is currently in breaking state and cannot be changed.',
  },
  LeaseIsBrokenAndCannotBeRenewed: {
    status: 409,
    message: 'The lease ID matched, but the lease has been broken explicitly and cannot be renewed.',
  },
  LeaseLost: { status: 412, message: 'A lease ID was specified, but the lease for the resource has expired.' },
  LeaseNotPresentWithBlobOperation: { status: 412, message: 'There is currently no lease on the blob.' },
  LeaseNotPresentWithContainerOperation: { status: 412, message: 'There is currently no lease on the container.' },
  LeaseNotPresentWithLeaseOperation: { status: 409, message: 'There is currently no lease on the resource.' },
  MaxBlobSizeConditionNotMet: { status: 412, message: 'The max blob size condition specified was not met.' },
  MessageNotFound: { status: 404, message: 'The specified message does not exist.' },
  NoPendingCopyOperation: { status: 409, message: 'There is currently no pending copy operation.' },
  OperationNotAllowedOnIncrementalCopyBlob: {
    status: 409,
    message: 'The specified operation is not allowed on an incremental copy blob.',
  },
  OperationNotAllowedOnRootBlob: {
    status: 403,
    message: 'The specified operation is not allowed on the current version of a blob.',
  },
  PendingCopyOperation: { status: 409, message: 'There is currently a pending copy operation.' },
  PreviousSnapshotNotFound: { status: 409, message: 'The previous snapshot is not found.' },
  PreviousSnapshotOperationNotSupported: {
    status: 409,
    message: 'Differential Get Page Ranges is not supported on the previous snapshot.',
  },
  PublicAccessNotPermitted: { status: 409, message: 'Public access is not permitted on this storage account.' },
  QueueAlreadyExists: { status: 409, message: 'The specified queue already exists.' },
  QueueNotFound: { status: 404, message: 'The specified queue does not exist.' },
  CannotDeleteFileOrDirectory: {
    status: 409,
    message: 'The file or directory could not be deleted because it is in use by an SMB client.',
  },
  ClientCacheFlushDelay: {
    status: 408,
    message: 'The specified resource state could not be flushed from an SMB client in the specified time.',
  },
  DirectoryNotEmpty: { status: 409, message: 'The specified directory is not empty.' },
  FileGenerationMismatch: {
    status: 409,
    message: 'The file has been recreated since the previous snapshot was taken.',
  },
  FileInvalidPermission: { status: 400, message: 'The specified file permission is not valid.' },
  FileLockConflict: { status: 409, message: 'A portion of the specified file is locked by an SMB client.' },
  FileOAuthManagementApiRestrictedToSrp: {
    status: 409,
    message:
      'This API accepts bearer tokens in version 2024-11-04 and later. In this version, use Shared Key or an account SAS.',
  },
  InvalidFileOrDirectoryPathName: {
    status: 400,
    message: 'The specified file or directory path name is too long, or has too many subdirectories.',
  },
  LeaseIdMismatchWithFileOperation: {
    status: 412,
    message: 'The lease ID specified did not match the lease ID for the file.',
  },
  LeaseNotPresentWithFileOperation: { status: 412, message: 'There is currently no lease on the file.' },
  ParentNotFound: { status: 404, message: 'The specified parent path does not exist.' },
  ReadOnlyAttribute: {
    status: 409,
    message: 'The specified resource is read-only and cannot be modified at this time.',
  },
  ResourceAlreadyExists: { status: 409, message: 'The specified resource already exists.' },
  SMBDeletePending: { status: 409, message: 'The specified resource is marked for deletion by an SMB client.' },
  ShareAlreadyExists: { status: 409, message: 'The specified share already exists.' },
  ShareHasSnapshots: {
    status: 409,
    message: 'The specified share has snapshots. Delete them first, or together with the share.',
  },
  ShareNotFound: { status: 404, message: 'The specified share does not exist.' },
  ShareSizeLimitReached: { status: 409, message: 'The share has reached its size limit.' },
  ShareSnapshotCountExceeded: { status: 409, message: 'The share has the maximum number of snapshots.' },
  SharingViolation: { status: 409, message: 'The specified resource may be in use by an SMB client.' },
  ResourceNotFound: { status: 404, message: 'The specified resource does not exist.' },
  ResourceTypeMismatch: {
    status: 409,
    message: 'The specified resource type does not match the type of the existing resource.',
  },
  SequenceNumberConditionNotMet: { status: 412, message: 'The sequence number condition specified was not met.' },
  SequenceNumberIncrementTooLarge: {
    status: 409,
    message:
      'The sequence number increment cannot be performed because it would result in overflow of the sequence number.',
  },
  SnapshotCountExceeded: { status: 409, message: 'The snapshot count against this blob has been exceeded.' },
  SnapshotOperationRateExceeded: {
    status: 409,
    message: 'The rate of snapshot operations against this blob has been exceeded.',
  },
  SnapshotsPresent: { status: 409, message: 'This operation is not permitted while the blob has snapshots.' },
  SourceConditionNotMet: {
    status: 412,
    message: 'The source condition specified using HTTP conditional header(s) is not met.',
  },
  SystemInUse: { status: 409, message: 'This blob is in use by the system.' },
  TableAlreadyExists: { status: 409, message: 'The table specified already exists.' },
  TableNotFound: { status: 404, message: 'The table specified does not exist.' },
  TargetConditionNotMet: {
    status: 412,
    message: 'The target condition specified using HTTP conditional header(s) is not met.',
  },
  UpdateConditionNotSatisfied: {
    status: 412,
    message: 'The update condition specified in the request was not satisfied.',
  },

  InternalError: { status: 500, message: 'The server encountered an internal error. Please retry the request.' },
  OperationTimedOut: { status: 500, message: 'The operation could not be completed within the permitted time.' },
  ServerBusy: {
    status: 503,
    message: 'The server is currently unable to receive requests. Please retry your request.',
  },
};

/** Where a token would come from; said with every 401, where no issuer is configured that would say it better. */
const CHALLENGE =
  'Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize resource_id=https://storage.azure.com';

export interface FaultContext {
  readonly method: string;
  readonly requestId: string;
  readonly nowMs: number;
  /** What was asked for, as far as it could be read. */
  readonly target?: RequestTarget;
  /** In place of the code's own status, where HTTP itself has a better one. */
  readonly status?: number;
}

export function renderFault(error: StorageError, context: FaultContext): Reply {
  const { status, headers } = faultHead(error, context);
  if (status === 304 || context.method === 'HEAD') return { status, headers };
  headers.push('Content-Type', 'application/xml');
  return { status, headers, body: renderFaultXml(error, context) };
}

/** All of it but the body, which each service writes in its own way. */
export function faultHead(
  { code, details }: StorageError,
  context: Pick<FaultContext, 'status'>,
): { readonly status: number; readonly headers: string[] } {
  const status = details.notModified === true ? 304 : (details.status ?? context.status ?? FAULTS[code].status);
  const headers = ['x-ms-error-code', code];
  if (status === 401 && details.headers?.['WWW-Authenticate'] === undefined) {
    headers.push('WWW-Authenticate', CHALLENGE);
  }
  for (const [name, value] of Object.entries(details.headers ?? {})) headers.push(name, value);
  return { status, headers };
}

export const messageOf = ({ code, details }: StorageError): string => details.message ?? FAULTS[code].message;

function renderFaultXml(error: StorageError, { requestId, nowMs }: FaultContext): string {
  const xml = new XmlWriter()
    .open('Error')
    .leaf('Code', error.code)
    .leaf('Message', `${messageOf(error)}\nRequestId:${requestId}\nTime:${formatIso7(nowMs)}`);
  for (const [name, text] of Object.entries(error.details.elements ?? {})) xml.leaf(name, text);
  return xml.toString();
}
