"""
SMB clients that a test drives step by step (impacket.ts): orders come as lines of JSON on standard input, what became of
them goes out the same way. Each client is a connection of impacket's with a session, a reader of its own, and any number
of requests under way; what the server says unasked is reported at once. Every answer's signature or tag is verified.
"""
import base64
import hashlib
import hmac
import json
import os
import socket
import struct
import sys
import threading
import traceback

from Cryptodome.Cipher import AES
from Cryptodome.Hash import CMAC
from impacket import nt_errors, smb3, smb3structs as words

UNASKED = 0xFFFFFFFFFFFFFFFF
PENDING = 0x00000103
CONNECT_TIMEOUT_SECONDS = 30
DIALECTS = {'2.1': words.SMB2_DIALECT_21, '3.0': words.SMB2_DIALECT_30}
OPLOCK_LEVELS = {'none': 0x00, 'II': 0x01, 'exclusive': 0x08, 'batch': 0x09, 'lease': 0xFF}
LEVEL_NAMES = {level: name for name, level in OPLOCK_LEVELS.items()}
LEASE_BITS = (('R', 0x1), ('W', 0x4), ('H', 0x2))
FILE_TIMES = ('CreationTime', 'LastAccessTime', 'LastWriteTime', 'ChangeTime')

saying = threading.Lock()


def say(said):
    with saying:
        sys.stdout.write(json.dumps(said) + '\n')
        sys.stdout.flush()


def status_name(status):
    return nt_errors.ERROR_MESSAGES[status][0] if status in nt_errors.ERROR_MESSAGES else '0x%08x' % status


def lease_letters(state):
    return ''.join(letter for letter, bit in LEASE_BITS if state & bit)


def lease_state(letters):
    return sum(bit for letter, bit in LEASE_BITS if letter in letters)


class Refused(Exception):
    pass


class Protocol(smb3.SMB3):
    """impacket up to the end of the sign-in; from then on requests are sent and dispatched here."""

    def settle(self, signs, encrypts):
        self._Connection['RequireSigning'] = signs
        if not encrypts:
            self._Connection['SupportsEncryption'] = False

    @property
    def dialect(self):
        return self._Connection['Dialect']

    @property
    def is_encrypted(self):
        return bool(self._Session['SessionFlags'] & words.SMB2_SESSION_FLAG_ENCRYPT_DATA)

    @property
    def session_id(self):
        return self._Session['SessionID']

    @property
    def first_message_id(self):
        return self._Connection['SequenceWindow']

    @property
    def socket(self):
        return self._NetBIOSSession.get_socket()

    def packet(self):
        return self.SMB_PACKET()

    def signature_of(self, data):
        blank = data[:48] + b'\0' * 16 + data[64:]
        if self.dialect == words.SMB2_DIALECT_21:
            return hmac.new(self._Session['SessionKey'], blank, hashlib.sha256).digest()[:16]
        return CMAC.new(self._Session['SigningKey'], blank, ciphermod=AES).digest()

    def sealed(self, data):
        header = words.SMB2_TRANSFORM_HEADER()
        header['Nonce'] = os.urandom(11)
        header['OriginalMessageSize'] = len(data)
        header['EncryptionAlgorithm'] = words.SMB2_ENCRYPTION_AES128_CCM
        header['SessionID'] = self.session_id
        cipher = AES.new(self._Session['EncryptionKey'], AES.MODE_CCM, nonce=header['Nonce'][:11])
        cipher.update(header.getData()[20:])
        text = cipher.encrypt(data)
        header['Signature'] = cipher.digest()
        return header.getData() + text

    def opened(self, message):
        header = words.SMB2_TRANSFORM_HEADER(message[:52])
        cipher = AES.new(self._Session['DecryptionKey'], AES.MODE_CCM, nonce=header['Nonce'][:11])
        cipher.update(message[20:52])
        return cipher.decrypt_and_verify(message[52:], header['Signature'])


class Client:
    def __init__(self, name, protocol, signs):
        self.name = name
        self.protocol = protocol
        self.signs = signs
        self.sending = threading.Lock()
        self.message_id = protocol.first_message_id
        # By message id: the number of the order, and what makes something of the answer.
        self.under_way = {}
        self.async_ids = {}
        self.has_left = False
        protocol.socket.settimeout(None)
        threading.Thread(target=self.read, daemon=True).start()

    def ask(self, order, command, body, then=lambda packet: None, tree=0):
        packet = self.protocol.packet()
        packet['Command'] = command
        packet['Flags'] = 0
        packet['TreeID'] = tree
        packet['CreditCharge'] = 1
        packet['CreditRequestResponse'] = 127
        packet['Data'] = body
        with self.sending:
            packet['MessageID'] = self.message_id
            self.message_id += 1
            self.under_way[packet['MessageID']] = (order, then)
            self.send(packet)

    def cancel(self, order):
        for message_id, (pending, _) in list(self.under_way.items()):
            if pending != order:
                continue
            is_async = message_id in self.async_ids
            packet = words.SMB2PacketAsync() if is_async else words.SMB2Packet()
            packet['Command'] = words.SMB2_CANCEL
            packet['Flags'] = words.SMB2_FLAGS_ASYNC_COMMAND if is_async else 0
            packet['MessageID'] = message_id
            packet['Data'] = words.SMB2Cancel()
            if is_async:
                packet['AsyncID'] = self.async_ids[message_id]
            with self.sending:
                self.send(packet)
            return
        raise ValueError('nothing is under way that could be cancelled')

    def send(self, packet):
        packet['SessionID'] = self.protocol.session_id
        encrypts = self.protocol.is_encrypted
        if self.signs and not encrypts:
            packet['Flags'] = packet['Flags'] | words.SMB2_FLAGS_SIGNED
        data = packet.getData()
        if encrypts:
            data = self.protocol.sealed(data)
        elif self.signs:
            data = data[:48] + self.protocol.signature_of(data) + data[64:]
        self.protocol.socket.sendall(struct.pack('>L', len(data)) + data)

    def read(self):
        try:
            while True:
                length = struct.unpack('>L', self.take(4))[0] & 0xFFFFFF
                self.hear(self.take(length))
        except (EOFError, OSError) as error:
            self.lose(str(error))
        except Exception:
            self.lose(traceback.format_exc())

    def take(self, length):
        data = b''
        while len(data) < length:
            piece = self.protocol.socket.recv(min(length - len(data), 1 << 20))
            if piece == b'':
                raise EOFError('the server has closed the connection')
            data += piece
        return data

    def hear(self, message):
        is_sealed = message[:4] == b'\xfdSMB'
        data = self.protocol.opened(message) if is_sealed else message
        packet = words.SMB2Packet(data)
        self.verify(packet, data, is_sealed)
        if packet['MessageID'] == UNASKED:
            self.hear_break(packet['Data'])
        elif packet['Status'] == PENDING:
            self.async_ids[packet['MessageID']] = words.SMB2PacketAsync(data)['AsyncID']
            say({'client': self.name, 'event': 'pending', 'to': self.under_way[packet['MessageID']][0]})
        else:
            self.hear_answer(packet)

    def verify(self, packet, data, is_sealed):
        # What belongs to no session is neither encrypted nor signed.
        if is_sealed or packet['MessageID'] == UNASKED:
            return
        if self.protocol.is_encrypted:
            raise ValueError('an answer is not encrypted')
        if packet['Flags'] & words.SMB2_FLAGS_SIGNED:
            if data[48:64] != self.protocol.signature_of(data):
                raise ValueError('an answer has a wrong signature')
        elif self.signs and packet['Status'] != PENDING:
            raise ValueError('an answer is not signed')

    def hear_break(self, body):
        if struct.unpack('<H', body[:2])[0] == 44:
            told = words.SMB2LeaseBreakNotification(body)
            say({
                'client': self.name, 'event': 'break', 'leaseKey': told['LeaseKey'].hex(),
                'from': lease_letters(told['CurrentLeaseState']), 'to': lease_letters(told['NewLeaseState']),
                'mustAnswer': bool(told['Flags'] & 1), 'epoch': told['NewEpoch'],
            })
        else:
            told = words.SMB2OplockBreakNotification(body)
            say({'client': self.name, 'event': 'break', 'file': told['FileID'].getData().hex(),
                 'to': LEVEL_NAMES[told['OplockLevel']]})

    def hear_answer(self, packet):
        order, then = self.under_way.pop(packet['MessageID'])
        self.async_ids.pop(packet['MessageID'], None)
        if packet['Status'] != 0:
            say({'to': order, 'refused': status_name(packet['Status'])})
            return
        try:
            say({'to': order, 'done': then(packet)})
        except Exception:
            say({'to': order, 'broken': traceback.format_exc()})

    def lose(self, why):
        under_way, self.under_way = self.under_way, {}
        for order, _ in under_way.values():
            say({'to': order, 'lost': why})
        if not self.has_left:
            say({'client': self.name, 'event': 'lost', 'why': why})

    def leave(self):
        """Without a word to the server."""
        self.has_left = True
        try:
            self.protocol.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.protocol.socket.close()


clients = {}


def connect(order, name, host, port, user, password, domain='', dialect='3.0', signs=True, encrypts=True):
    protocol = Protocol(host, host, sess_port=port, timeout=CONNECT_TIMEOUT_SECONDS, preferredDialect=DIALECTS[dialect])
    protocol.settle(signs, encrypts)
    try:
        protocol.login(user, password, domain)
    except smb3.SessionError as error:
        raise Refused(status_name(error.get_error_code()))
    clients[name] = Client(name, protocol, signs)
    say({'to': order, 'done': {'isEncrypted': protocol.is_encrypted, 'sessionId': str(protocol.session_id)}})


def tree(client, order, share):
    path = '\\\\%s\\%s' % (client.protocol.getServerIP(), share)
    body = words.SMB2TreeConnect()
    body['Buffer'] = path.encode('utf-16le')
    body['PathLength'] = len(body['Buffer'])
    client.ask(order, words.SMB2_TREE_CONNECT, body, lambda packet: {'tree': packet['TreeID']})


def untree(client, order, tree):
    client.ask(order, words.SMB2_TREE_DISCONNECT, words.SMB2TreeDisconnect(), tree=tree)


def context(name, data):
    # The name of four bytes is padded, so that the data begins at a multiple of eight.
    return struct.pack('<LHHHHL', 0, 16, len(name), 0, 24, len(data)) + name + b'\0' * 4 + data


def chained(contexts):
    padded = [each + b'\0' * (-len(each) % 8) for each in contexts]
    linked = [struct.pack('<L', len(each)) + each[4:] for each in padded[:-1]]
    return b''.join(linked) + contexts[-1]


def contexts_in(body, offset, length):
    found, at = {}, offset - 64
    while length > 0:
        following, name_at, name_length, _, data_at, data_length = struct.unpack('<LHHHHL', body[at:at + 16])
        found[body[at + name_at:at + name_at + name_length]] = body[at + data_at:at + data_at + data_length]
        if following == 0:
            break
        at += following
    return found


def lease_context(lease):
    key, state = bytes.fromhex(lease['key']), lease_state(lease['state'])
    version1 = struct.pack('<16sLLQ', key, state, 0, 0)
    return context(b'RqLs', version1 + struct.pack('<16sHH', b'', 0, 0) if lease.get('version') == 2 else version1)


def open_file(client, order, tree, path, access, share, disposition, options, attributes, oplock, lease=None,
              durable=None, reconnect=None):
    name = path.replace('/', '\\').encode('utf-16le')
    contexts = []
    if lease is not None:
        contexts.append(lease_context(lease))
    if durable is not None:
        contexts.append(context(b'DHnQ', b'\0' * 16))
    if reconnect is not None:
        contexts.append(context(b'DHnC', bytes.fromhex(reconnect)))
    body = words.SMB2Create()
    body['RequestedOplockLevel'] = OPLOCK_LEVELS['lease' if lease is not None else oplock]
    body['ImpersonationLevel'] = words.SMB2_IL_IMPERSONATION
    body['DesiredAccess'] = access
    body['FileAttributes'] = attributes
    body['ShareAccess'] = share
    body['CreateDisposition'] = disposition
    body['CreateOptions'] = options
    body['NameLength'] = len(name)
    body['Buffer'] = name or b'\0'
    if contexts:
        padded = body['Buffer'] + b'\0' * (-len(body['Buffer']) % 8)
        chain = chained(contexts)
        body['CreateContextsOffset'] = 64 + words.SMB2Create.SIZE + len(padded)
        body['CreateContextsLength'] = len(chain)
        body['Buffer'] = padded + chain

    def opened(packet):
        answer = words.SMB2Create_Response(packet['Data'])
        found = contexts_in(packet['Data'], answer['CreateContextsOffset'], answer['CreateContextsLength'])
        granted = found.get(b'RqLs')
        return {
            'file': answer['FileID'].getData().hex(),
            'oplock': LEVEL_NAMES[answer['OplockLevel']],
            'lease': None if granted is None else lease_letters(struct.unpack('<L', granted[16:20])[0]),
            'epoch': struct.unpack('<H', granted[48:50])[0] if granted is not None and len(granted) == 52 else None,
            'isDurable': b'DHnQ' in found,
            'action': answer['CreateAction'],
            'lengthBytes': answer['EndOfFile'],
            'attributes': answer['FileAttributes'],
        }

    client.ask(order, words.SMB2_CREATE, body, opened, tree)


def about(body, file):
    body['FileID'] = bytes.fromhex(file)
    return body


def close(client, order, tree, file):
    client.ask(order, words.SMB2_CLOSE, about(words.SMB2Close(), file), tree=tree)


def read(client, order, tree, file, offset, length):
    body = about(words.SMB2Read(), file)
    body['Padding'] = 0x50
    body['Offset'] = offset
    body['Length'] = length

    def taken(packet):
        return base64.b64encode(words.SMB2Read_Response(packet['Data'])['Buffer']).decode()

    client.ask(order, words.SMB2_READ, body, taken, tree)


def write(client, order, tree, file, offset, bytes):
    data = base64.b64decode(bytes)
    body = about(words.SMB2Write(), file)
    body['Offset'] = offset
    body['Length'] = len(data)
    body['Buffer'] = data
    client.ask(order, words.SMB2_WRITE, body, lambda packet: words.SMB2Write_Response(packet['Data'])['Count'], tree)


def flush(client, order, tree, file):
    client.ask(order, words.SMB2_FLUSH, about(words.SMB2Flush(), file), tree=tree)


def lock(client, order, tree, file, ranges):
    body = about(words.SMB2Lock(), file)
    body['LockCount'] = len(ranges)
    body['Locks'] = b''.join(struct.pack('<QQLL', int(offset), int(length), flags, 0) for offset, length, flags in ranges)
    client.ask(order, words.SMB2_LOCK, body, tree=tree)


def set_info(client, order, tree, file, kind, **values):
    information_class, data = SET_INFORMATION[kind](**values)
    body = about(words.SMB2SetInfo(), file)
    body['InfoType'] = words.SMB2_0_INFO_FILE
    body['FileInfoClass'] = information_class
    body['BufferLength'] = len(data)
    body['Buffer'] = data
    client.ask(order, words.SMB2_SET_INFO, body, tree=tree)


def rename_information(path, replaces):
    information = words.FILE_RENAME_INFORMATION_TYPE_2()
    information['ReplaceIfExists'] = int(replaces)
    information['RootDirectory'] = 0
    information['FileName'] = path.replace('/', '\\').encode('utf-16le')
    information['FileNameLength'] = len(information['FileName'])
    return words.SMB2_FILE_RENAME_INFO, information.getData()


def basic_information(attributes=0, times=(0, 0, 0, 0)):
    information = words.FILE_BASIC_INFORMATION()
    for field, time in zip(FILE_TIMES, times):
        information[field] = time
    information['FileAttributes'] = attributes
    return words.SMB2_FILE_BASIC_INFO, information.getData()


SET_INFORMATION = {
    'disposition': lambda isMarked: (words.SMB2_FILE_DISPOSITION_INFO, struct.pack('<B', int(isMarked))),
    'end of file': lambda lengthBytes: (words.SMB2_FILE_END_OF_FILE_INFO, struct.pack('<Q', lengthBytes)),
    'rename': rename_information,
    'basic': basic_information,
}


def basic_of(data):
    information = words.FILE_BASIC_INFORMATION(data[:40])
    return {**{field: str(information[field]) for field in FILE_TIMES}, 'attributes': information['FileAttributes']}


def standard_of(data):
    information = words.FILE_STANDARD_INFORMATION(data[:24])
    return {
        'lengthBytes': information['EndOfFile'],
        'allocationBytes': information['AllocationSize'],
        'isPending': bool(information['DeletePending']),
        'isDirectory': bool(information['Directory']),
    }


def all_of(data):
    name_length = struct.unpack('<L', data[96:100])[0]
    return {**basic_of(data), **standard_of(data[40:]), 'fileId': str(struct.unpack('<Q', data[64:72])[0]),
            'name': data[100:100 + name_length].decode('utf-16le')}


QUERY_INFORMATION = {
    'basic': (words.SMB2_FILE_BASIC_INFO, basic_of),
    'standard': (words.SMB2_FILE_STANDARD_INFO, standard_of),
    'all': (words.SMB2_FILE_ALL_INFO, all_of),
}


def query_info(client, order, tree, file, kind):
    information_class, decode = QUERY_INFORMATION[kind]
    body = about(words.SMB2QueryInfo(), file)
    body['InfoType'] = words.SMB2_0_INFO_FILE
    body['FileInfoClass'] = information_class
    body['OutputBufferLength'] = 65535
    body['InputBufferOffset'] = 0
    body['Buffer'] = b'\0'
    client.ask(order, words.SMB2_QUERY_INFO, body,
               lambda packet: decode(words.SMB2QueryInfo_Response(packet['Data'])['Buffer']), tree)


def query_directory(client, order, tree, file, pattern):
    name = pattern.encode('utf-16le')
    body = about(words.SMB2QueryDirectory(), file)
    body['FileInformationClass'] = words.SMB2_FILE_BOTH_DIRECTORY_INFO
    body['OutputBufferLength'] = 65536
    body['FileNameLength'] = len(name)
    body['Buffer'] = name

    def listed(packet):
        data, at, entries = words.SMB2QueryDirectory_Response(packet['Data'])['Buffer'], 0, []
        while True:
            following, = struct.unpack('<L', data[at:at + 4])
            length, = struct.unpack('<q', data[at + 40:at + 48])
            attributes, name_length = struct.unpack('<LL', data[at + 56:at + 64])
            name = data[at + 94:at + 94 + name_length].decode('utf-16le')
            entries.append({'name': name, 'lengthBytes': length, 'attributes': attributes})
            if following == 0:
                return entries
            at += following

    client.ask(order, words.SMB2_QUERY_DIRECTORY, body, listed, tree)


def notify(client, order, tree, file, filter, isRecursive):
    body = about(words.SMB2ChangeNotify(), file)
    body['Flags'] = int(isRecursive)
    body['OutputBufferLength'] = 65536
    body['CompletionFilter'] = filter

    def changed(packet):
        data, at, changes = words.SMB2ChangeNotify_Response(packet['Data'])['Buffer'], 0, []
        while True:
            following, action, length = struct.unpack('<LLL', data[at:at + 12])
            changes.append({'action': action, 'name': data[at + 12:at + 12 + length].decode('utf-16le')})
            if following == 0:
                return changes
            at += following

    client.ask(order, words.SMB2_CHANGE_NOTIFY, body, changed, tree)


def answer_oplock(client, order, tree, file, level):
    body = about(words.SMB2OplockBreakAcknowledgment(), file)
    body['OplockLevel'] = OPLOCK_LEVELS[level]
    client.ask(order, words.SMB2_OPLOCK_BREAK, body, tree=tree)


def answer_lease(client, order, tree, key, state):
    body = words.SMB2LeaseBreakAcknowledgement()
    body['LeaseKey'] = bytes.fromhex(key)
    body['LeaseState'] = lease_state(state)
    client.ask(order, words.SMB2_OPLOCK_BREAK, body, tree=tree)


def echo(client, order):
    client.ask(order, words.SMB2_ECHO, words.SMB2Echo())


def cancel(client, order, of):
    client.cancel(of)
    say({'to': order, 'done': None})


def disconnect(client, order):
    client.leave()
    del clients[client.name]
    say({'to': order, 'done': None})


def logoff(client, order):
    client.ask(order, words.SMB2_LOGOFF, words.SMB2Logoff())


ORDERS = {
    'tree': tree, 'untree': untree, 'open': open_file, 'close': close, 'read': read, 'write': write, 'flush': flush,
    'lock': lock, 'set': set_info, 'query': query_info, 'list': query_directory, 'notify': notify,
    'answer oplock': answer_oplock, 'answer lease': answer_lease, 'echo': echo, 'cancel': cancel,
    'disconnect': disconnect, 'logoff': logoff,
}


def answering(order, act):
    try:
        act()
    except Refused as refused:
        say({'to': order, 'refused': str(refused)})
    except OSError as error:
        say({'to': order, 'lost': str(error)})
    except Exception:
        say({'to': order, 'broken': traceback.format_exc()})


def obey(line):
    order = json.loads(line)
    number, what, name = order.pop('to'), order.pop('do'), order.pop('client')
    if what == 'connect':
        # Takes several rounds: others do not wait for it.
        act = lambda: connect(number, name, **order)
        threading.Thread(target=answering, args=(number, act), daemon=True).start()
    else:
        answering(number, lambda: ORDERS[what](clients[name], number, **order))


for line in sys.stdin:
    obey(line)
for client in list(clients.values()):
    client.leave()
