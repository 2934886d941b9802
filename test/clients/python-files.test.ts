/** Microsoft's Python library for files as Debian packages it. */
// tier: system
// engines: embedded
import { missingTool } from '../packages.ts';
import { tellPythonStory } from './python-story.ts';

const SCRIPT = `
import os
from datetime import datetime, timedelta, timezone
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.fileshare import (
    AccessPolicy, AccountSasPermissions, ContentSettings, CorsRule, FileSasPermissions, Metrics, NTFSAttributes, ResourceTypes,
    RetentionPolicy, ShareClient, ShareFileClient, ShareLeaseClient, ShareSasPermissions, ShareServiceClient,
    generate_account_sas, generate_file_sas, generate_share_sas)

connection = os.environ['CONNECTION_STRING']
service = ShareServiceClient.from_connection_string(connection, retry_total=0)

# The service.
service.set_service_properties(
    hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=5)),
    cors=[CorsRule(['https://a.example'], ['GET'], max_age_in_seconds=5)])
properties = service.get_service_properties()
assert properties['hour_metrics'].retention_policy.days == 5 and properties['cors'][0].allowed_methods == 'GET'

# Shares.
share = service.create_share('snakes', metadata={'kind': 'python'}, quota=7)
assert share.get_share_properties().metadata == {'kind': 'python'} and share.get_share_properties().quota == 7
refused(ResourceExistsError, 'ShareAlreadyExists', share.create_share)
for name in ('snakes-a', 'snakes-b'):
    service.create_share(name)
assert [s.name for s in service.list_shares(name_starts_with='snakes')] == ['snakes', 'snakes-a', 'snakes-b']
pages = [[s.name for s in page] for page in service.list_shares(results_per_page=2).by_page()]
assert pages == [['snakes', 'snakes-a'], ['snakes-b']], pages
share.set_share_quota(9)
share.set_share_metadata({'kind': 'boa'})
assert [(s.quota, s.metadata) for s in service.list_shares('snakes', include_metadata=True)][0] == (9, {'kind': 'boa'})
assert share.get_share_stats() == 0
share.set_share_access_policy({'readers': AccessPolicy(
    ShareSasPermissions(read=True), datetime.now(timezone.utc) + timedelta(hours=1), datetime(2020, 1, 1))})
policy = share.get_share_access_policy()['signed_identifiers'][0]
assert policy.id == 'readers' and policy.access_policy.permission == 'r'
refused(ResourceNotFoundError, 'ShareNotFound', service.get_share_client('nowhere').get_share_properties)

# Permissions by key.
sddl = 'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)'
key = share.create_permission_for_share(sddl)
assert key == share.create_permission_for_share(sddl)
assert share.get_permission_for_share(key) == sddl, share.get_permission_for_share(key)

# Directories.
directory = share.create_directory('Zoo', metadata={'open': 'yes'})
refused(ResourceExistsError, 'ResourceAlreadyExists', share.create_directory, 'ZOO')
refused(ResourceNotFoundError, 'ParentNotFound', share.get_directory_client('no/where').create_directory)
directory.set_http_headers(file_attributes=NTFSAttributes(directory=True, hidden=True))
assert 'Hidden' in directory.get_directory_properties().file_attributes
deep = directory.create_subdirectory('Deep')
assert directory.get_directory_properties().metadata == {'open': 'yes'}
directory.set_directory_metadata({'open': 'no'})
assert deep.exists() and not share.get_directory_client('zoo/shallow').exists()

# Files: up and down, in one go and in ranges.
data = os.urandom(9 * 1024 * 1024 + 77)
file = directory.upload_file('Big.bin', data, content_settings=ContentSettings(content_type='x/y', cache_control='no-cache'),
    metadata={'a': 'b'}, max_concurrency=3)
assert file.download_file().readall() == data
assert file.download_file(offset=1000, length=5000).readall() == data[1000:6000]
assert file.download_file(offset=0, length=100, validate_content=True).readall() == data[:100]
found = file.get_file_properties()
assert (found.size, found.content_settings.content_type, found.metadata) == (len(data), 'x/y', {'a': 'b'}), found
assert found.file_id and found.parent_id and found.permission_key and found.file_attributes == 'Archive'
small = deep.get_file_client('small.txt')
before = small.create_file(2048)
after = small.upload_range(b'hello', offset=510, length=5)
assert before['etag'] != after['etag']
assert [(r['start'], r['end']) for r in small.get_ranges()] == [(0, 1023)], small.get_ranges()
assert small.download_file().readall() == bytes(510) + b'hello' + bytes(2048 - 515)
small.clear_range(offset=0, length=512)
assert [(r['start'], r['end']) for r in small.get_ranges()] == [(512, 1023)]
small.resize_file(513)
small.resize_file(1024)
assert small.download_file().readall() == bytes(512) + b'l' + bytes(511), small.download_file().readall()
small.set_http_headers(ContentSettings(content_type='text/plain'))
small.set_file_metadata({'x': 'y'})
assert small.get_file_properties().metadata == {'x': 'y'}
refused(HttpResponseError, 'InvalidRange', small.upload_range, b'x' * 10, offset=1020, length=10)
refused(ResourceNotFoundError, 'ResourceNotFound', deep.get_file_client('none').get_file_properties)

# Listing.
listed = [(e['name'], e['is_directory'], e.get('size')) for e in directory.list_directories_and_files()]
# This library shows a page's directories first.
assert listed == [('Deep', True, None), ('Big.bin', False, len(data))], listed
for number in range(12):
    deep.get_file_client('f%02d' % number).create_file(number)
names = [e['name'] for e in deep.list_directories_and_files(results_per_page=5)]
assert names == ['f%02d' % number for number in range(12)] + ['small.txt'], names
assert [e['name'] for e in deep.list_directories_and_files(name_starts_with='F1')] == ['f10', 'f11']
rich = list(directory.list_directories_and_files(include=['timestamps', 'Etag', 'Attributes', 'PermissionKey'], include_extended_info=True))
assert all(e.file_id and e.etag and e.permission_key and e.creation_time for e in rich), rich

# Rename, of a file and of a directory with all below it.
moved = file.rename_file('zoo/deep/Moved.bin')
assert moved.get_file_properties().file_id == found.file_id
assert moved.download_file(offset=0, length=10).readall() == data[:10]
refused(ResourceExistsError, 'ResourceAlreadyExists', moved.rename_file, 'zoo/deep/small.txt')
renamed = directory.rename_directory('Zoo2')
assert share.get_file_client('zoo2/deep/moved.bin').get_file_properties().size == len(data)
refused(ResourceNotFoundError, 'ParentNotFound', moved.get_file_properties)
moved = share.get_file_client('zoo2/deep/moved.bin')
small = share.get_file_client('zoo2/deep/small.txt')

# Leases: a file's without end, a share's with one.
lease = moved.acquire_lease()
refused(HttpResponseError, 'LeaseIdMissing', moved.upload_range, b'x', offset=0, length=1)
refused(ResourceExistsError, 'LeaseAlreadyPresent', moved.acquire_lease)
moved.upload_range(b'x', offset=0, length=1, lease=lease)
assert moved.get_file_properties().lease.state == 'leased'
lease.change('11111111-2222-3333-4444-555555555555')
ShareLeaseClient(moved).break_lease()
moved.upload_range(b'y', offset=0, length=1)
hold = share.acquire_lease(lease_duration=15)
refused(HttpResponseError, 'LeaseIdMissing', share.delete_share)
hold.renew()
hold.release()

# Snapshots of the whole tree, and what changed since.
snapshot = share.create_snapshot(metadata={'when': 'then'})['snapshot']
small.upload_range(b'later', offset=0, length=5)
moved.delete_file()
then = ShareClient.from_connection_string(connection, 'snakes', snapshot=snapshot)
assert then.get_share_properties().metadata == {'when': 'then'}
assert then.get_file_client('zoo2/deep/small.txt').download_file().readall() == bytes(512) + b'l' + bytes(511)
assert then.get_file_client('zoo2/deep/moved.bin').get_file_properties().size == len(data)
assert 'Moved.bin' in [e['name'] for e in then.get_directory_client('zoo2/deep').list_directories_and_files()]
assert 'Moved.bin' not in [e['name'] for e in share.get_directory_client('zoo2/deep').list_directories_and_files()]
changed, cleared = small.get_ranges_diff(previous_sharesnapshot=snapshot)
assert [(r['start'], r['end']) for r in changed] == [(0, 511)] and cleared == [], (changed, cleared)
refused(ResourceExistsError, 'ShareHasSnapshots', share.delete_share)

# Copies.
copy = share.get_file_client('copy.txt')
assert copy.start_copy_from_url(small.url)['copy_status'] == 'success'
assert copy.download_file().readall()[:5] == b'later' and copy.get_file_properties().metadata == {'x': 'y'}
refused(HttpResponseError, 'NoPendingCopyOperation', copy.abort_copy, '11111111-2222-3333-4444-555555555555')

# Handles: nobody has any over REST.
assert list(share.get_directory_client('').list_handles(recursive=True)) == []
assert share.get_directory_client('').close_all_handles(recursive=True)['closed_handles_count'] == 0

# Signatures.
account, account_key = os.environ['ACCOUNT'], os.environ['KEY']
soon = datetime.now(timezone.utc) + timedelta(hours=1)
sas = generate_file_sas(account, 'snakes', ['copy.txt'], account_key, permission=FileSasPermissions(read=True), expiry=soon)
reader = ShareFileClient(os.environ['ENDPOINT'], 'snakes', 'copy.txt', credential=sas, retry_total=0)
assert reader.download_file().readall()[:5] == b'later'
refused(HttpResponseError, 'AuthorizationPermissionMismatch', reader.delete_file)
sas = generate_share_sas(account, 'snakes', account_key, policy_id='readers')
reader = ShareFileClient(os.environ['ENDPOINT'], 'snakes', 'zoo2/deep/small.txt', credential=sas, retry_total=0)
assert reader.get_file_properties().size == 1024
sas = generate_account_sas(account, account_key, ResourceTypes(service=True), AccountSasPermissions(list=True), soon)
assert 'snakes' in [s.name for s in ShareServiceClient(os.environ['ENDPOINT'], credential=sas).list_shares()]

# The end.
share.delete_share(delete_snapshots=True)
refused(ResourceNotFoundError, 'ShareNotFound', share.get_share_properties)
`;

tellPythonStory('the Python library for files', {
  skip: missingTool('pythonStorage'),
  story: 'shares, directories, files, ranges, leases, snapshots and signatures work',
  script: SCRIPT,
  endpoint: (server, account) => server.fileEndpoint(account),
});
