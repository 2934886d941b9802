/** Microsoft's Python library for blobs as Debian packages it (python3-azure-storage). */
// tier: system
import { missingTool } from '../packages.ts';
import { tellPythonStory } from './python-story.ts';

const SCRIPT = `
import os, uuid
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError)
from azure.storage.blob import BlobBlock, BlobServiceClient, ContentSettings

service = BlobServiceClient.from_connection_string(
    os.environ['CONNECTION_STRING'], max_single_put_size=64 * 1024, max_block_size=64 * 1024,
    max_single_get_size=64 * 1024, max_chunk_get_size=64 * 1024)

# Containers.
container = service.create_container('snakes', metadata={'order': 'squamata'})
refused(ResourceExistsError, 'ContainerAlreadyExists', service.create_container, 'snakes')
assert container.get_container_properties().metadata == {'order': 'squamata'}
assert [c.name for c in service.list_containers(name_starts_with='sna')] == ['snakes']

# Upload and download: empty, in one piece, in blocks of which four are under way at once.
for size in (0, 1000, 64 * 1024, 64 * 1024 + 1, 1024 * 1024 + 17):
    content = os.urandom(size)
    blob = container.get_blob_client('size/%d' % size)
    blob.upload_blob(content, max_concurrency=4, metadata={'size': str(size)},
                     content_settings=ContentSettings(content_type='application/x-snake', cache_control='no-cache'))
    download = blob.download_blob(max_concurrency=4)
    assert download.readall() == content
    assert download.properties.metadata == {'size': str(size)}
    assert download.properties.content_settings.content_type == 'application/x-snake'
    if size > 100:
        assert blob.download_blob(offset=10, length=50).readall() == content[10:60]

# Blocks, by hand.
blob = container.get_blob_client('blocks')
for block_id, content in (('a', b'one '), ('b', b'two '), ('c', b'never')):
    blob.stage_block(block_id, content)
refused(ResourceNotFoundError, 'BlobNotFound', blob.get_blob_properties)
blob.commit_block_list([BlobBlock('b'), BlobBlock('a'), BlobBlock('b')])
assert blob.download_blob().readall() == b'two one two '
committed, uncommitted = blob.get_block_list('all')
assert [(b.id, b.size) for b in committed] == [('b', 4), ('a', 4), ('b', 4)] and uncommitted == []

# Conditions.
blob = container.get_blob_client('condition')
first = blob.upload_blob(b'1')['etag']
refused(ResourceExistsError, 'BlobAlreadyExists', blob.upload_blob, b'x')
second = blob.upload_blob(b'2', overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)['etag']
assert second != first
refused(ResourceModifiedError, 'ConditionNotMet', blob.upload_blob, b'3', overwrite=True, etag=first,
        match_condition=MatchConditions.IfNotModified)
refused(ResourceModifiedError, 'ConditionNotMet', blob.set_blob_metadata, {'a': 'b'}, etag=first,
        match_condition=MatchConditions.IfNotModified)
assert blob.download_blob(etag=second, match_condition=MatchConditions.IfNotModified).readall() == b'2'

# Leases.
lease = blob.acquire_lease(lease_duration=15)
refused(ResourceExistsError, 'LeaseAlreadyPresent', blob.acquire_lease, 15, lease_id=str(uuid.uuid4()))
refused(HttpResponseError, 'LeaseIdMissing', blob.upload_blob, b'x', overwrite=True)
refused(HttpResponseError, 'LeaseIdMismatchWithBlobOperation', blob.set_blob_metadata, {}, lease=str(uuid.uuid4()))
blob.upload_blob(b'leased', overwrite=True, lease=lease)
lease.renew()
lease.change(str(uuid.uuid4()))
assert blob.get_blob_properties(lease=lease).lease.state == 'leased'
lease.release()
assert blob.get_blob_properties().lease.state == 'available'

# Listings: page by page, folded at a delimiter.
pages = container.list_blobs(results_per_page=2).by_page()
names = [[b.name for b in page] for page in pages]
assert all(len(page) <= 2 for page in names)
flat = [name for page in names for name in page]
assert flat == sorted(flat) and len(flat) == 7, flat
assert sorted(b.name for b in container.walk_blobs(delimiter='/')) == ['blocks', 'condition', 'size/']
assert [b.metadata for b in container.list_blobs(name_starts_with='size/1000', include=['metadata'])] == [
    {'size': '1000'}]

# Deletes.
blob.delete_blob(delete_snapshots='include')
refused(ResourceNotFoundError, 'BlobNotFound', blob.download_blob)
container.delete_blob('blocks')
assert sorted(b.name for b in container.walk_blobs(delimiter='/')) == ['size/']
container.delete_container()
assert not container.exists()
`;

tellPythonStory('the Python library', {
  skip: missingTool('pythonStorage'),
  story: 'uploads, blocks, conditions, leases and listings work',
  script: SCRIPT,
  endpoint: (server, account) => server.endpoint(account),
});
