"""Reads ZIP containers by Python's zipfile, and compares each local header with the central directory.

Input: a JSON list of paths. Output: for each a list of entries, as JSON.
"""
import hashlib
import json
import struct
import sys
import zipfile


def entries_of(path):
    with zipfile.ZipFile(path) as container, open(path, 'rb') as file:
        found, end = [], 0
        for info in container.infolist():
            assert info.header_offset == end, 'a gap before the entry'
            file.seek(info.header_offset)
            signature, version, flags, method, _, _, crc, stored, size, name, extra = struct.unpack('<4s5H3L2H', file.read(30))
            local = (version, flags, method, crc, stored, size, extra)
            central = (info.extract_version, info.flag_bits, info.compress_type, info.CRC, info.compress_size, info.file_size, len(info.extra))
            assert signature == b'PK\x03\x04' and local == central, (local, central)
            end = info.header_offset + 30 + name + stored
            found.append({
                'name': info.filename,
                'method': method,
                'flags': flags,
                'bytes': size,
                'storedBytes': stored,
                'contentAt': end - stored,
                'extraBytes': extra,
                'modified': '%04d-%02d-%02dT%02d:%02d:%02d' % info.date_time,
                'mode': oct(info.external_attr >> 16),
                # Checks the CRC-32.
                'sha256': hashlib.sha256(container.read(info)).hexdigest(),
            })
        assert container.start_dir == end, 'a gap before the directory'
        return found


json.dump([entries_of(path) for path in json.load(sys.stdin)], sys.stdout)
