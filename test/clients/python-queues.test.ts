/** Microsoft's Python library for queues as Debian packages it. */
// tier: system
// engines: embedded
import { missingTool } from '../packages.ts';
import { tellPythonStory } from './python-story.ts';

const SCRIPT = `
import os
from datetime import datetime, timedelta, timezone
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import (
    AccessPolicy, BinaryBase64DecodePolicy, BinaryBase64EncodePolicy, CorsRule, Metrics, QueueAnalyticsLogging, QueueClient,
    QueueSasPermissions, QueueServiceClient, RetentionPolicy, TextBase64DecodePolicy, TextBase64EncodePolicy,
    generate_account_sas, generate_queue_sas)

connection = os.environ['CONNECTION_STRING']
service = QueueServiceClient.from_connection_string(connection, retry_total=0)

# Queues.
queue = service.create_queue('snakes', metadata={'kind': 'python'})
assert queue.get_queue_properties().metadata == {'kind': 'python'}
# To this library the 204 of a queue that is there, with the same metadata, is the same as a 409.
refused(ResourceExistsError, 'QueueAlreadyExists', queue.create_queue, metadata={'kind': 'python'})
refused(ResourceExistsError, 'QueueAlreadyExists', queue.create_queue)
for name in ('snakes-a', 'snakes-b', 'snakes-c'):
    service.create_queue(name)
pages = [[q.name for q in page] for page in service.list_queues(results_per_page=3).by_page()]
assert pages == [['snakes', 'snakes-a', 'snakes-b'], ['snakes-c']], pages
paged = service.list_queues(results_per_page=2).by_page()
first = [q.name for q in next(paged)]
rest = [q.name for page in service.list_queues(results_per_page=2).by_page(paged.continuation_token) for q in page]
assert first + rest == ['snakes', 'snakes-a', 'snakes-b', 'snakes-c'], (first, rest)
found = list(service.list_queues(name_starts_with='snakes', include_metadata=True))
assert found[0].metadata == {'kind': 'python'} and len(found) == 4, found
queue.set_queue_metadata({'kind': 'boa', 'length': '3'})
assert queue.get_queue_properties().metadata == {'kind': 'boa', 'length': '3'}
refused(HttpResponseError, 'OutOfRangeInput', service.create_queue, 'no')
refused(HttpResponseError, 'InvalidResourceName', service.create_queue, 'No-Queue')
refused(ResourceNotFoundError, 'QueueNotFound', service.get_queue_client('nowhere').get_queue_properties)

# Put, peek, receive; times.
texts = ["it's", ' <b>&amp; ]]> ', 'r\\u00fc \\U0001faa8', '{"json": true}', 'line\\nfeed\\ttab']
sent = [queue.send_message(text) for text in texts]
assert all(s.pop_receipt and s.id for s in sent) and len({s.id for s in sent}) == 5
assert sent[0].expires_on - sent[0].inserted_on == timedelta(days=7)
assert [m.content for m in queue.peek_messages(max_messages=32)] == texts
peeked = queue.peek_messages()
assert len(peeked) == 1 and peeked[0].dequeue_count == 0 and peeked[0].pop_receipt is None
got = [m for m in queue.receive_messages(messages_per_page=2, visibility_timeout=300)]
assert [m.content for m in got] == texts
assert [m.dequeue_count for m in got] == [1] * 5 and len({m.pop_receipt for m in got}) == 5
assert all(timedelta(seconds=298) < m.next_visible_on - m.inserted_on < timedelta(seconds=400) for m in got)
assert queue.receive_message() is None and queue.peek_messages(max_messages=5) == []
assert queue.get_queue_properties().approximate_message_count == 5

# Receipts: only the last one is good.
message = got[0]
old = message.pop_receipt
updated = queue.update_message(message, content='changed', visibility_timeout=0)
assert updated.pop_receipt != old and updated.content == 'changed'
refused(ResourceNotFoundError, 'MessageNotFound', queue.delete_message, message.id, old)
refused(ResourceNotFoundError, 'MessageNotFound', queue.update_message, message.id, old, content='no', visibility_timeout=0)
again = queue.receive_message(visibility_timeout=300)
assert again.id == message.id and again.content == 'changed' and again.dequeue_count == 2
refused(ResourceNotFoundError, 'MessageNotFound', queue.delete_message, updated)
kept = queue.update_message(again, visibility_timeout=600)
assert kept.content == 'changed'
queue.delete_message(kept)
refused(ResourceNotFoundError, 'MessageNotFound', queue.delete_message, kept)
assert queue.get_queue_properties().approximate_message_count == 4
refused(HttpResponseError, 'InvalidQueryParameterValue', queue.delete_message, got[1].id, 'no receipt')

# Visibility and time to live.
hidden = queue.send_message('hidden', visibility_timeout=600, time_to_live=3600)
assert hidden.next_visible_on - hidden.inserted_on == timedelta(seconds=600)
assert hidden.expires_on - hidden.inserted_on == timedelta(hours=1)
assert queue.receive_message() is None
for_ever = queue.send_message('for ever', time_to_live=-1)
assert for_ever.expires_on.year == 9999
refused(HttpResponseError, 'InvalidQueryParameterValue', queue.send_message, 'x', visibility_timeout=60, time_to_live=60)
refused(HttpResponseError, 'OutOfRangeQueryParameterValue', queue.send_message, 'x', visibility_timeout=604801, time_to_live=-1)
refused(HttpResponseError, 'OutOfRangeQueryParameterValue', lambda: list(queue.receive_messages(messages_per_page=33)))
refused(HttpResponseError, 'InvalidQueryParameterValue', queue.update_message, hidden.id, hidden.pop_receipt, visibility_timeout=3700)
queue.send_message('x' * 65536)
refused(HttpResponseError, 'RequestBodyTooLarge', queue.send_message, 'x' * 65537)
queue.clear_messages()
assert queue.get_queue_properties().approximate_message_count == 0
refused(ResourceNotFoundError, 'MessageNotFound', queue.delete_message, got[1])

# A page at a time, and no more than asked for.
for n in range(20):
    queue.send_message('%02d' % n)
pages = [[m.content for m in page] for page in queue.receive_messages(messages_per_page=8).by_page()]
assert [len(page) for page in pages if page] == [8, 8, 4], pages
assert sum(pages, []) == ['%02d' % n for n in range(20)]
queue.clear_messages()
for n in range(5):
    queue.send_message(str(n))
assert [m.content for m in queue.receive_messages(max_messages=3)] == ['0', '1', '2']
queue.clear_messages()

# Base64 is the clients' own affair.
binary = QueueClient.from_connection_string(connection, 'snakes', message_encode_policy=BinaryBase64EncodePolicy(),
                                            message_decode_policy=BinaryBase64DecodePolicy(), retry_total=0)
binary.send_message(bytes(range(256)))
assert binary.peek_messages()[0].content == bytes(range(256))
assert queue.peek_messages()[0].content.startswith('AAECAwQF')
assert binary.receive_message().content == bytes(range(256))
text = QueueClient.from_connection_string(connection, 'snakes', message_encode_policy=TextBase64EncodePolicy(),
                                          message_decode_policy=TextBase64DecodePolicy(), retry_total=0)
text.send_message('\\u00fc\\r\\n\\x00')
assert text.receive_message().content == '\\u00fc\\r\\n\\x00'
queue.clear_messages()

# Policies, and signatures.
account, key, endpoint = os.environ['ACCOUNT'], os.environ['KEY'], os.environ['ENDPOINT']
expiry = datetime.now(timezone.utc) + timedelta(hours=1)
queue.set_queue_access_policy({'senders': AccessPolicy(expiry=expiry, permission='a')})
assert queue.get_queue_access_policy()['senders'].permission == 'a'
def with_sas(sas):
    return QueueClient(endpoint, 'snakes', credential=sas, retry_total=0)
sender = with_sas(generate_queue_sas(account, 'snakes', key, policy_id='senders'))
sender.send_message('by policy')
refused(HttpResponseError, 'AuthorizationPermissionMismatch', sender.receive_message)
worker = with_sas(generate_queue_sas(account, 'snakes', key, permission=QueueSasPermissions(update=True, process=True), expiry=expiry))
taken = worker.receive_message()
assert taken.content == 'by policy'
worker.delete_message(worker.update_message(taken, content='done', visibility_timeout=5))
refused(HttpResponseError, 'AuthorizationPermissionMismatch', worker.send_message, 'x')
refused(HttpResponseError, 'AuthorizationPermissionMismatch', worker.peek_messages)
whole = QueueServiceClient(endpoint, credential=generate_account_sas(account, key, 'sco', 'rwdlacup', expiry), retry_total=0)
whole.create_queue('snakes-d')
whole.get_queue_client('snakes-d').send_message('x')
assert whole.get_queue_client('snakes-d').receive_message().content == 'x'
whole.delete_queue('snakes-d')
queue.set_queue_access_policy({})
refused(HttpResponseError, 'AuthenticationFailed', sender.send_message, 'x')

# Service properties, and stats of the secondary.
service.set_service_properties(
    analytics_logging=QueueAnalyticsLogging(read=True, write=True, delete=False, retention_policy=RetentionPolicy(enabled=True, days=5)),
    hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=5)),
    cors=[CorsRule(['http://a.example'], ['GET'], max_age_in_seconds=5)])
properties = service.get_service_properties()
assert properties['analytics_logging'].write is True and properties['hour_metrics'].include_apis is True
assert [rule.allowed_origins for rule in properties['cors']] == ['http://a.example']
service.set_service_properties(cors=[])
assert service.get_service_properties()['cors'] == []
host = endpoint.split('/')[2]
secondary = QueueServiceClient(endpoint + '-secondary', credential={'account_name': account, 'account_key': key},
                               secondary_hostname=host, retry_total=0)
stats = secondary.get_service_stats()
assert stats['geo_replication']['status'] == 'live', stats

# Deletes.
for name in ('snakes', 'snakes-a', 'snakes-b', 'snakes-c'):
    service.delete_queue(name)
refused(ResourceNotFoundError, 'QueueNotFound', queue.send_message, 'x')
assert list(service.list_queues()) == []
`;

tellPythonStory('the Python library for queues', {
  skip: missingTool('pythonStorage'),
  story: 'queues, messages, receipts, encodings and signatures work',
  script: SCRIPT,
  endpoint: (server, account) => server.queueEndpoint(account),
});
