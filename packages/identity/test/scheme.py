"""The identity scheme a second time, from SCHEME.md alone.

Reads a JSON list of {"kind", "identity", "prefix"?} from standard input and writes, for each, {"text", "ref"} or
{"code"}. Shares nothing with the package it is compared to; needs Python 3.8 and its standard library.
"""

import hashlib
import json
import re
import sys
import unicodedata

SCHEME = "1"


class Refused(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


def refuse_unless(condition, code):
    if not condition:
        raise Refused(code)


def full(pattern, text):
    return re.fullmatch(pattern, text, re.ASCII) is not None


def units(text):
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def by_code_unit(key):
    return key.encode("utf-16-be", "surrogatepass")


def write(kind, lines):
    text = "warmbox-identity %s %s\n" % (SCHEME, kind)
    for field, *values in lines:
        text += field
        for value in values:
            text += " %d:%s" % (len(value.encode("utf-8")), value)
        text += "\n"
    return text


def name_hash(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:40]


def check_string(value, limit):
    refuse_unless(isinstance(value, str), "INPUT_TYPE")
    refuse_unless(units(value) <= limit, "INPUT_TOO_LONG")
    return value


def check_text(value, limit):
    check_string(value, limit)
    for character in value:
        category = unicodedata.category(character)
        refuse_unless(category != "Cc" or character in "\t\n\r", "INPUT_CHARACTER")
        refuse_unless(category != "Cs", "INPUT_CHARACTER")
    return value


def check_object(value, limit=None):
    refuse_unless(isinstance(value, dict), "INPUT_TYPE")
    refuse_unless(limit is None or len(value) <= limit, "INPUT_TOO_MANY")
    return value


def check_fields(value, known):
    refuse_unless(all(field in known.split() for field in value), "INPUT_UNKNOWN_FIELD")


def integer(value, code):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    refuse_unless(isinstance(value, int) and not isinstance(value, bool), code)
    return value


def size_of(identity):
    cpu = integer(identity.get("cpuCount", 2), "CPU_COUNT_INVALID")
    refuse_unless(cpu == 1 or (2 <= cpu <= 32 and cpu % 2 == 0), "CPU_COUNT_INVALID")
    memory = integer(identity.get("memoryMB", 1024), "MEMORY_INVALID")
    refuse_unless(128 <= memory <= 1048576 and memory % 2 == 0, "MEMORY_INVALID")
    return cpu, memory


# Clone URLs


def ipv6(literal):
    """The eight groups of an IPv6 address as RFC 5952 writes them, always in hex."""
    head, gap, tail = literal.partition("::")
    refuse_unless("::" not in tail, "CLONE_URL_HOST")

    def groups(text, may_embed):
        found = []
        parts = text.split(":") if text else []
        for index, part in enumerate(parts):
            if may_embed and index == len(parts) - 1 and "." in part:
                refuse_unless(is_ipv4(part), "CLONE_URL_HOST")
                a, b, c, d = (int(byte) for byte in part.split("."))
                found += [a * 256 + b, c * 256 + d]
            else:
                refuse_unless(full("[0-9a-f]{1,4}", part), "CLONE_URL_HOST")
                found.append(int(part, 16))
        return found

    if gap:
        left, right = groups(head, False), groups(tail, True)
        refuse_unless(len(left) + len(right) <= 7, "CLONE_URL_HOST")
        values = left + [0] * (8 - len(left) - len(right)) + right
    else:
        values = groups(head, True)
        refuse_unless(len(values) == 8, "CLONE_URL_HOST")
    best_start, best_length, start = 0, 0, None
    for index, value in enumerate(values + [1]):
        if value == 0 and start is None:
            start = index
        elif value != 0 and start is not None:
            if index - start > best_length:
                best_start, best_length = start, index - start
            start = None
    if best_length < 2:
        return ":".join("%x" % value for value in values)
    left = ":".join("%x" % value for value in values[:best_start])
    right = ":".join("%x" % value for value in values[best_start + best_length :])
    return left + "::" + right


def is_ipv4(host):
    parts = host.split(".")
    return len(parts) == 4 and all(full("0|[1-9][0-9]{0,2}", part) and int(part) <= 255 for part in parts)


def host_and_port(authority):
    if authority.startswith("["):
        inside, bracket, after = authority[1:].partition("]")
        refuse_unless(bracket and full("[0-9a-f:.]*", inside), "CLONE_URL_HOST")
        refuse_unless(after == "" or after.startswith(":"), "CLONE_URL_HOST")
        return "[%s]" % ipv6(inside), after[1:] if after else None
    host, colon, port = authority.partition(":")
    labels = host.split(".")
    refuse_unless(len(host) <= 253, "CLONE_URL_HOST")
    for label in labels:
        refuse_unless(full("[a-z0-9_-]{1,63}", label) and label[0] != "-" and label[-1] != "-", "CLONE_URL_HOST")
    if full("[0-9]+|0x[0-9a-f]*", labels[-1]):
        refuse_unless(is_ipv4(host), "CLONE_URL_HOST")
    return host, port if colon else None


def canonical_escape(match):
    character = chr(int(match.group(0)[1:], 16))
    return character if full("[A-Za-z0-9._~-]", character) else match.group(0).upper()


def decoded(segment):
    data = bytearray()
    index = 0
    while index < len(segment):
        if segment[index] == "%":
            data.append(int(segment[index + 1 : index + 3], 16))
            index += 3
        else:
            data += segment[index].encode("ascii")
            index += 1
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("CLONE_URL_PATH")
    for character in text:
        refuse_unless(character not in "/\\" and unicodedata.category(character) != "Cc", "CLONE_URL_PATH")
    return text


def clone_url(url):
    """The canonical URL and the directory."""
    check_string(url, 2048)
    refuse_unless(url != "", "INPUT_REQUIRED")
    refuse_unless(full(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", url), "CLONE_URL_CHARACTER")
    refuse_unless(url[:8].lower() == "https://", "CLONE_URL_PROTOCOL")
    authority, rest = re.fullmatch("([^/?#]*)(.*)", url[8:]).groups()
    user, _, address = authority.rpartition("@")
    refuse_unless(":" not in user and "@" not in user and "@" not in rest, "CLONE_URL_CREDENTIALS")
    refuse_unless("#" not in rest, "CLONE_URL_FRAGMENT")
    refuse_unless("?" not in rest, "CLONE_URL_QUERY")
    host, port = host_and_port(address.lower())
    if port is not None:
        refuse_unless(full("[1-9][0-9]{0,4}", port) and int(port) <= 65535, "CLONE_URL_PORT")
        if port != "443":
            host += ":" + port
    refuse_unless("[" not in rest and "]" not in rest, "CLONE_URL_PATH")
    refuse_unless(not re.search("%(?![0-9A-Fa-f]{2})", rest), "CLONE_URL_PATH")
    segments = [re.sub("%[0-9A-Fa-f]{2}", canonical_escape, part) for part in rest.rstrip("/")[1:].split("/")]
    refuse_unless(not any(part in ("", ".", "..") for part in segments), "CLONE_URL_PATH")
    if segments[-1].endswith(".git"):
        segments[-1] = segments[-1][:-4]
    refuse_unless(segments[-1] not in ("", ".", "..") and not segments[-1].endswith(".git"), "CLONE_URL_PATH")
    names = [decoded(part) for part in segments]
    repository = names[-1]
    refuse_unless(repository != "_git" or names[-2:-1] == ["_git"], "CLONE_URL_PATH")
    directory = re.sub("[^A-Za-z0-9._-]+", "-", repository)
    if directory[0] in ".-":
        directory = "_" + directory
    return "https://%s/%s" % (host, "/".join(segments)), directory[:100]


# Refs


def fold(part, pattern, code, limit=128):
    refuse_unless(isinstance(part, str), "INPUT_TYPE")
    refuse_unless(units(part) <= limit and part.isascii(), code)
    part = part.strip("\t\n\v\f\r ").lower()
    refuse_unless(full(pattern, part), code)
    return part


def folded_ref(ref):
    refuse_unless(isinstance(ref, str), "INPUT_TYPE")
    path, colon, tag = ref.partition(":")
    namespace, slash, name = path.partition("/")
    refuse_unless("/" not in name, "REF_INVALID")
    text = fold(namespace, "[a-z0-9_-]+", "NAME_INVALID") + "/" if slash else ""
    text += fold(name if slash else namespace, "[a-z0-9_-]+", "NAME_INVALID")
    if colon:
        tag = fold(tag, "[a-z0-9_.-]+", "TAG_INVALID")
        refuse_unless(not full("[0-9a-f]{32}", tag), "TAG_INVALID")
        refuse_unless(not full("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", tag), "TAG_INVALID")
        text += ":" + tag
    return text


# Kinds


def setup_lines(given):
    commands = given if isinstance(given, list) else [given]
    refuse_unless(len(commands) <= 256, "INPUT_TOO_MANY")
    for command in commands:
        check_text(command, 32768)
    return [("setupCommand", command) for command in commands if command.strip("\t\n\r ")]


def variable_line(name, given):
    refuse_unless(units(name) <= 256 and full("[A-Za-z_][A-Za-z0-9_]*", name), "ENV_NAME_INVALID")
    if isinstance(given, str):
        return ("buildEnv", name, "value", check_text(given, 32768))
    check_fields(check_object(given), "value version")
    check_text(given.get("value"), 32768)
    version = check_text(given.get("version"), 256)
    refuse_unless(version != "", "INPUT_REQUIRED")
    return ("buildEnv", name, "version", version)


def extra_line(key, value):
    check_text(key, 256)
    refuse_unless(key != "", "INPUT_REQUIRED")
    return ("extra", key, check_text(value, 32768))


def working_directory(path):
    check_string(path, 1024)
    segments = [part for part in path.split("/") if part]
    good = full(r"/[A-Za-z0-9._+@=,/-]*", path) and segments and "." not in segments and ".." not in segments
    refuse_unless(good, "WORKING_DIRECTORY_INVALID")
    return "/" + "/".join(segments)


def boolean(value):
    refuse_unless(isinstance(value, bool), "INPUT_TYPE")
    return "true" if value else "false"


REPO_FIELDS = (
    "cloneUrl sha setupCommand buildEnv cpuCount memoryMB workingDirectory submodules lfs baseTemplateId salt extra"
)


def repo(identity, prefix=None):
    check_fields(check_object(identity), REPO_FIELDS)
    url, directory = clone_url(identity.get("cloneUrl"))
    cpu, memory = size_of(identity)
    tag = "current"
    if "sha" in identity:
        sha = identity["sha"]
        refuse_unless(isinstance(sha, str) and full("[0-9a-fA-F]{40}|[0-9a-fA-F]{64}", sha), "SHA_INVALID")
        tag = "sha-" + sha.lower()
    build_env = check_object(identity.get("buildEnv", {}), 256)
    extra = check_object(identity.get("extra", {}), 256)
    base = mountable({"cpuCount": cpu, "memoryMB": memory})[1]
    lines = [("cloneUrl", url)]
    lines += setup_lines(identity.get("setupCommand", []))
    lines += [variable_line(name, build_env[name]) for name in sorted(build_env, key=by_code_unit)]
    lines += [
        ("cpuCount", str(cpu)),
        ("memoryMB", str(memory)),
        ("workingDirectory", working_directory(identity.get("workingDirectory", "/home/user/" + directory))),
        ("submodules", boolean(identity.get("submodules", False))),
        ("lfs", boolean(identity.get("lfs", False))),
        ("baseTemplateId", folded_ref(identity.get("baseTemplateId", base))),
        ("salt", check_text(identity.get("salt", ""), 1024)),
    ]
    lines += [extra_line(key, extra[key]) for key in sorted(extra, key=by_code_unit)]
    text = write("repo", lines)
    prefix = "mastra-repo" if prefix is None else fold(prefix, "[a-z0-9_-]+", "NAME_INVALID", 87)
    return text, "%s-%s:%s" % (prefix, name_hash(text), tag)


def mountable(identity):
    check_fields(check_object(identity), "nodeVersion cpuCount memoryMB aptPackages")
    cpu, memory = size_of(identity)
    node = identity.get("nodeVersion", "24.20.0")
    number = "(0|[1-9][0-9]{0,4})"
    refuse_unless(isinstance(node, str) and full(r"%s\.%s\.%s" % (number, number, number), node), "NODE_VERSION_INVALID")
    packages = identity.get("aptPackages", ["fuse", "s3fs"])
    refuse_unless(isinstance(packages, list), "INPUT_TYPE")
    refuse_unless(len(packages) <= 256, "INPUT_TOO_MANY")
    for package in packages:
        check_string(package, 256)
        refuse_unless(full("[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+~:-]+)?", package), "APT_PACKAGE_INVALID")
    lines = [("version", "v3"), ("nodeVersion", node), ("cpuCount", str(cpu)), ("memoryMB", str(memory))]
    lines += [("aptPackage", package) for package in sorted(set(packages), key=by_code_unit)]
    text = write("mountable", lines)
    return text, "mastra-" + name_hash(text)


def content(identity):
    check_fields(check_object(identity), "template cpuCount memoryMB")
    template = check_text(identity.get("template"), 4194304)
    cpu, memory = size_of(identity)
    text = write("content", [("cpuCount", str(cpu)), ("memoryMB", str(memory)), ("template", template)])
    return text, "mastra-" + name_hash(text)


def answer(request):
    try:
        if request["kind"] == "repo":
            text, ref = repo(request["identity"], request.get("prefix"))
        else:
            text, ref = {"mountable": mountable, "content": content}[request["kind"]](request["identity"])
        return {"text": text, "ref": ref}
    except Refused as refused:
        return {"code": refused.code}


if __name__ == "__main__":
    requests = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    sys.stdout.write(json.dumps([answer(request) for request in requests]))
