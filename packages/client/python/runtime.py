"""What generated clients share. Python 3.9 or later; the standard library alone.

Written by `portal pull`. Do not edit: the next pull replaces it.
"""

from __future__ import annotations

import collections
import contextlib
import email.utils
import gzip
import http.client
import json
import os
import random
import re
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request
import zlib
from decimal import Decimal as Decimal

Item = t.TypeVar("Item")
Numbers = t.Mapping[str, t.Callable[[t.Any], t.Any]]
"""How fields are converted: `total`, or `lines.quantity` for those of lines and related records."""
Numeric = t.Union[int, float, Decimal, str]


def _error_of(body: t.Any) -> t.Dict[str, t.Any]:
    """Empty for what a proxy answers."""
    if not isinstance(body, dict) or not isinstance(t.cast(t.Any, body).get("error"), dict):
        return {}
    error: t.Dict[str, t.Any] = t.cast(t.Any, body)["error"]
    is_ours = isinstance(error.get("message"), str) and isinstance(error.get("code"), str)
    return error if is_ours and isinstance(error.get("details", []), list) else {}


class ApiError(Exception):
    """The service refused the request."""

    def __init__(self, status: int, body: t.Any, request_id: t.Optional[str]) -> None:
        error = _error_of(body)
        super().__init__(error.get("message", f"The service answered with status {status}"))
        self.status = status
        self.code: str = error.get("code", "UNKNOWN")
        self.details: t.List[t.Dict[str, str]] = error.get("details") or []
        self.request_id = request_id

    def has_detail(self, code: str) -> bool:
        return any(detail.get("code") == code for detail in self.details)


class ConnectionFailed(Exception):
    """No whole response came, after all attempts."""


class Interrupted(Exception):
    """An export broke off, or a walk started again too often, because the records changed."""


class _Passing(Exception):
    """A failure that may pass; its cause is what callers see when it doesn't."""

    def __init__(self, cause: Exception, after: float = 0.0) -> None:
        super().__init__()
        self.cause = cause
        self.after = after


class Pagination(t.TypedDict):
    total: int
    page: int
    pageSize: int
    totalPages: int


class Freshness(t.NamedTuple):
    generation: str
    synced_at: t.Optional[str]
    stale_fields: t.Optional[str]


class Page(t.Generic[Item]):
    def __init__(self, data: t.List[Item], pagination: Pagination, freshness: Freshness) -> None:
        self.data = data
        self.pagination = pagination
        self.freshness = freshness


class Summary(t.Generic[Item]):
    def __init__(self, data: t.List[Item], total: int, freshness: Freshness) -> None:
        self.data = data
        self.total = total
        self.freshness = freshness


class ChangePage(t.Generic[Item]):
    """With `reset`, discard your copy before you apply the changes."""

    def __init__(self, reset: bool, changes: t.List[Item], next: str) -> None:
        self.reset = reset
        self.changes = changes
        self.next = next


class ChangeStore(t.Protocol):
    """Keeps the position in the changes of one resource."""

    def load(self) -> t.Optional[str]: ...

    def save(self, position: str) -> None: ...


class FileStore:
    """Keeps the position in a file of its own, which is replaced as a whole."""

    def __init__(self, path: str) -> None:
        self.path = path

    def load(self) -> t.Optional[str]:
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read().strip() or None
        except FileNotFoundError:
            return None

    def save(self, position: str) -> None:
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(position + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.path + ".new", self.path)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another server."""

    def redirect_request(self, *args: t.Any, **kwargs: t.Any) -> None:
        return None


class _Answer(t.NamedTuple):
    body: t.Any
    freshness: Freshness


_lost = (urllib.error.URLError, http.client.HTTPException, OSError, EOFError, zlib.error)
_retried = frozenset((429, 502, 503, 504))


def _freshness(headers: t.Any) -> Freshness:
    return Freshness(
        headers.get("x-data-generation", ""), headers.get("x-data-synced-at"), headers.get("x-data-stale-fields")
    )


def _retry_after(text: t.Optional[str]) -> float:
    if text is None:
        return 0.0
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def _text(name: str, value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal, str)):
        return str(value)
    raise TypeError(f"{name} is {type(value).__name__}; leave out what is not set")


def _query(parameters: t.Mapping[str, t.Any], joined: t.Collection[str] = ()) -> str:
    """Refuses what would be left out, because a filter that is left out widens the result."""
    pairs: t.List[t.Tuple[str, str]] = []
    for name, value in parameters.items():
        given: t.List[t.Any] = list(value) if type(value) in (list, tuple) else [value]
        values = [_text(name, each) for each in given]
        if not values:
            raise TypeError(f"{name} is an empty list")
        pairs += [(name, each) for each in ([",".join(values)] if name in joined else values)]
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _tree(numbers: Numbers) -> t.Dict[str, t.Any]:
    root: t.Dict[str, t.Any] = {}
    for path, kind in numbers.items():
        name, _, inner = path.partition(".")
        if inner:
            root.setdefault(name, {})[inner] = kind
        else:
            root[name] = kind
    return root


def _convert(value: t.Any, numbers: t.Any) -> t.Any:
    if isinstance(value, list):
        return [_convert(each, numbers) for each in t.cast(t.Any, value)]
    if isinstance(value, dict) and isinstance(numbers, dict):
        fields = t.cast(t.Any, value).items()
        return {name: _convert(inner, numbers[name]) if name in numbers else inner for name, inner in fields}
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    is_digits = isinstance(value, str) and re.fullmatch(r"-?\d+", value) is not None
    return numbers(value) if callable(numbers) and (is_number or is_digits) else t.cast(t.Any, value)


def _base_of(text: str) -> str:
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("base_url must be an http or https address without a user name")
    return f"{parts.scheme}://{parts.netloc}" + re.sub(r"(/api/public)?/*$", "", parts.path)


def _checked(key: str) -> str:
    trimmed = key.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", trimmed):
        raise ValueError("The key is empty, or has characters that no key has")
    return trimmed


class Transport:
    """Reads addresses of the service: credentials, retries, and responses kept while nothing changes."""

    def __init__(
        self,
        base_url: str,
        key: t.Union[str, t.Callable[[], str]],
        tenant: t.Optional[str] = None,
        *,
        timeout: float = 30.0,
        max_retries: int = 6,
        max_cached: int = 100,
    ) -> None:
        if tenant is None and isinstance(key, str) and not key.strip().startswith("psk_"):
            raise ValueError("With a record token, give the tenant, the id of the organization")
        self._base = _base_of(base_url)
        self._key = key
        self._tenant = tenant
        self._timeout = timeout
        self.max_retries = max_retries
        self._max_cached = max_cached
        self._cached: t.OrderedDict[str, t.Tuple[str, bytes]] = collections.OrderedDict()
        self._opener = urllib.request.build_opener(_NoRedirect())

    def _headers(self, tenant: t.Optional[str], more: t.Mapping[str, str]) -> t.Dict[str, str]:
        key = _checked(self._key if isinstance(self._key, str) else self._key())
        own = {"Authorization": f"Bearer {key}", "Accept-Encoding": "gzip"}
        return {**own, **({} if tenant is None else {"x-tenant-id": tenant}), **more}

    def start(self, path: str, tenant: t.Optional[str], more: t.Mapping[str, str]) -> t.Any:
        """One attempt. Raises ApiError for a refusal, and _Passing for what may pass."""
        request = urllib.request.Request(self._base + path, headers=self._headers(tenant, more))
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return error
            with error:
                raise self._refusal(error) from None
        except _lost as error:
            raise self.lost(error) from error

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        try:
            body = json.loads(self.body_of(error))
        except (ValueError, *_lost):
            body = None
        refusal = ApiError(error.code, body, error.headers.get("x-request-id"))
        after = _retry_after(error.headers.get("retry-after"))
        return _Passing(refusal, after) if error.code in _retried else refusal

    def lost(self, error: Exception) -> Exception:
        reason = getattr(error, "reason", error)
        host = urllib.parse.urlsplit(self._base).netloc
        return _Passing(ConnectionFailed(f"No whole response from {host}: {reason}"))

    @staticmethod
    def body_of(response: t.Any) -> bytes:
        body: bytes = response.read()
        return gzip.decompress(body) if response.headers.get("content-encoding") == "gzip" else body

    def back_off(self, failure: Exception, count: int) -> None:
        """Waits after failure `count`, from 1. Raises what can't pass, or has come too often."""
        if not isinstance(failure, _Passing):
            raise failure
        slot = min(8.0, 0.25 * 2 ** (count - 1))
        if count > self.max_retries or failure.after > 60.0:
            raise failure.cause
        time.sleep(max(failure.after, slot / 2) + random.random() * slot / 2)

    def _read_once(self, path: str, tenant: t.Optional[str]) -> _Answer:
        tag, kept = self._cached.get(path, ("", b""))
        more = {"Accept": "application/json", **({"If-None-Match": tag} if tag else {})}
        with contextlib.closing(self.start(path, tenant, more)) as response:
            try:
                text = kept if response.status == 304 else self.body_of(response)
                body = json.loads(text, parse_float=Decimal)
            except (ValueError, *_lost) as error:
                raise self.lost(error) from error
            self._keep(path, response.headers.get("etag"), text)
            return _Answer(body, _freshness(response.headers))

    def _keep(self, path: str, tag: t.Optional[str], text: bytes) -> None:
        self._cached.pop(path, None)
        if tag is not None and len(text) < 1_000_000:
            self._cached[path] = (tag, text)
        while len(self._cached) > self._max_cached:
            self._cached.popitem(last=False)

    def _read(self, path: str, tenant: t.Optional[str]) -> _Answer:
        count = 0
        while True:
            try:
                return self._read_once(path, tenant)
            except (ApiError, _Passing) as failure:
                count += 1
                self.back_off(failure, count)

    def tenant(self) -> str:
        if self._tenant is None:
            organization = self._read("/api/platform/v1/whoami", None).body.get("organization")
            if organization is None:
                raise ValueError("The service names no organization for this key: give the tenant")
            self._tenant = t.cast(str, organization["id"])
        return self._tenant

    def read(self, path: str) -> _Answer:
        return self._read(path, self.tenant())


class Records(t.Generic[Item]):
    """The records that match: read them with `for`, or page by page."""

    def __init__(self, resource: Resource, parameters: t.Mapping[str, t.Any]) -> None:
        self._resource = resource
        self._parameters = dict(parameters)

    def page(self) -> Page[Item]:
        """One page: the first, or that of the parameter `page`."""
        return self._page(self._parameters)

    def _page(self, parameters: t.Mapping[str, t.Any]) -> Page[Item]:
        body, freshness = self._resource.read(self._resource.query(parameters))
        data = t.cast("t.List[Item]", self._resource.convert(body["data"]))
        return Page(data, body["pagination"], freshness)

    def pages(self) -> t.Iterator[Page[Item]]:
        """The pages to the end. A record that exists throughout comes exactly once, also when syncs commit
        in between: pages after such a sync leave out what came before it."""
        given: t.Set[str] = set()
        first: int = self._parameters.get("page", 1)
        size: int = self._parameters.get("pageSize", self._resource.max_page_size)
        number, generation, vain_restarts = first, "", 0
        while True:
            try:
                page = self._page({**self._parameters, "page": number, "pageSize": size})
            except ApiError as error:
                if "pageSize" in self._parameters or size == 1 or not error.has_detail("page_too_large"):
                    raise
                start = (number - 1) * size
                size = next(each for each in range(size // 2, 0, -1) if start % each == 0)
                number = start // size + 1
                continue
            changed = generation not in ("", page.freshness.generation)
            generation = page.freshness.generation
            if changed and number > first:
                vain_restarts += 1
                if vain_restarts > 5:
                    raise Interrupted("The records change faster than the list can be read: use export")
                number, size = first, self._parameters.get("pageSize", self._resource.max_page_size)
                continue
            page.data = [each for each in page.data if t.cast(t.Any, each)["id"] not in given]
            given.update(t.cast(t.Any, each)["id"] for each in page.data)
            vain_restarts = 0 if page.data else vain_restarts
            yield page
            if number >= page.pagination["totalPages"]:
                return
            number += 1

    def __iter__(self) -> t.Iterator[Item]:
        for page in self.pages():
            yield from page.data


class Changes(t.Generic[Item]):
    """What has changed since the stored position, then ends."""

    def __init__(self, resource: Resource, store: t.Optional[ChangeStore], since: t.Optional[str]) -> None:
        self._resource = resource
        self._store = store
        self._since = since

    def _read(self, since: t.Optional[str]) -> t.Tuple[bool, t.Any]:
        limit = {"limit": 1000}
        if since is not None:
            try:
                return False, self._resource.read(_query({**limit, "since": since}), "/changes").body
            except ApiError as error:
                if error.status != 410 or not error.has_detail("token_expired"):
                    raise
        return True, self._resource.read(_query(limit), "/changes").body

    def pages(self) -> t.Iterator[ChangePage[Item]]:
        """Page by page, for a copy that stores `next` in the same transaction."""
        position = self._since
        if position is None and self._store is not None:
            position = self._store.load()
        while True:
            reset, body = self._read(position)
            changes = [
                change if change["op"] == "delete" else {**change, "record": self._resource.convert(change["record"])}
                for change in body["data"]
            ]
            if reset or changes:
                yield ChangePage(reset, t.cast("t.List[Item]", changes), body["next"])
            # Only here has the caller processed the page.
            if self._store is not None and body["next"] != position:
                self._store.save(body["next"])
            position = body["next"]
            if not body["hasMore"]:
                return

    def __iter__(self) -> t.Iterator[Item]:
        for page in self.pages():
            if page.reset:
                yield t.cast(Item, {"op": "reset"})
            yield from page.changes


def _cannot_continue(given: int, why: str) -> Interrupted:
    return Interrupted(f"The export broke off after {given} records, and {why}. Start it again")


class Resource:
    """The methods behind those of a generated resource."""

    def __init__(
        self,
        transport: Transport,
        base: str,
        max_page_size: int,
        numbers: Numbers,
        numbers_in_rows: Numbers,
        expands: bool = True,
    ) -> None:
        self._transport = transport
        self._base = base
        self._numbers = _tree(numbers)
        self._numbers_in_rows = _tree(numbers_in_rows)
        self._joined = ("fields", "expand") if expands else ("fields",)
        self.max_page_size = max_page_size

    def convert(self, value: t.Any) -> t.Any:
        return _convert(value, self._numbers)

    def query(self, parameters: t.Mapping[str, t.Any]) -> str:
        return _query(parameters, self._joined)

    def read(self, query: str, path: str = "") -> _Answer:
        return self._transport.read(self._base + path + query)

    def _get(self, id: str, parameters: t.Mapping[str, t.Any]) -> t.Any:
        if id in ("", ".", ".."):
            raise ValueError(f"{id!r} is no id of a record")
        data = self.read(self.query(parameters), "/" + urllib.parse.quote(id, safe="")).body["data"]
        if isinstance(data, list):
            raise ValueError(f"{id!r} is no id of a record")
        return self.convert(data)

    def _summary(self, parameters: t.Mapping[str, t.Any]) -> Summary[t.Any]:
        body, freshness = self.read(self.query(parameters), "/summary")
        return Summary(_convert(body["data"], self._numbers_in_rows), body["total"], freshness)

    def _rest(self, path: str, progress: t.Dict[str, t.Any]) -> t.Iterator[t.Any]:
        """One attempt: the records behind those that were given."""
        transport = self._transport
        more = {"Accept": "application/x-ndjson"}
        if progress["given"]:
            if not progress["tag"]:
                raise _cannot_continue(progress["given"], "has no ETag by which to continue")
            more["If-Match"] = progress["tag"]
        with contextlib.closing(transport.start(path, transport.tenant(), more)) as response:
            # Proxies that compress make tags weak, which If-Match doesn't take.
            progress["tag"] = re.sub("^W/", "", response.headers.get("etag", ""))
            total = response.headers.get("x-total-count")
            is_coded = response.headers.get("content-encoding") == "gzip"
            lines = iter(gzip.GzipFile(fileobj=response) if is_coded else response)
            count = 0
            while True:
                try:
                    line = next(lines, None)
                    record = None if line is None else json.loads(line, parse_float=Decimal)
                except (ValueError, *_lost) as error:
                    raise transport.lost(error) from error
                if line is None:
                    break
                count += 1
                if count > progress["given"]:
                    progress["given"] = count
                    yield self.convert(record)
        # Without the header, a body that ends well is complete.
        if total is not None and count != int(total):
            raise transport.lost(EOFError(f"the export ended after {count} of {total} records"))

    def _export(self, parameters: t.Mapping[str, t.Any]) -> t.Iterator[t.Any]:
        path = self._base + self.query(parameters)
        progress: t.Dict[str, t.Any] = {"given": 0, "tag": ""}
        failures = before = 0
        while True:
            try:
                yield from self._rest(path, progress)
                return
            except (ApiError, _Passing) as failure:
                if isinstance(failure, ApiError) and failure.status == 412:
                    raise _cannot_continue(progress["given"], "the records have changed since") from failure
                failures = 1 if progress["given"] > before else failures + 1
                before = progress["given"]
                self._transport.back_off(failure, failures)
