"""Fills a Placement server over HTTP, as its administrator would. The content of providers and the order of the writes are
fixed, because tests of the suite expect generations: each inventory, the traits and each claim raise them, aggregates do not.
"""

import json
import uuid

TRAITS_AND_CLASSES = "1.39"
AGGREGATES_WITHOUT_GENERATION = "1.1"
CLAIMS_WITHOUT_CONSUMER_TYPE = "1.28"


class Refused(Exception):
    """The server refused a request of a fixture."""


class Cloud:
    def __init__(self, wire):
        self._wire = wire

    def provider(self, name, *, key=None, parent=None, aggregates=(), inventories=None, traits=()):
        """Creates a provider; an inventory is its total, or a record without the resource class."""
        key = key or str(uuid.uuid4())
        self._send("POST", "/resource_providers", {"name": name, "uuid": key, "parent_provider_uuid": parent})
        if aggregates:
            path = f"/resource_providers/{key}/aggregates"
            self._send("PUT", path, list(aggregates), AGGREGATES_WITHOUT_GENERATION)
        for resource_class, inventory in (inventories or {}).items():
            self._inventory(key, resource_class, inventory)
        if traits:
            self._traits(key, traits)
        return key

    def claim(self, provider, resources, *, project, user):
        """Allocates resources of one provider to a new consumer."""
        consumer = str(uuid.uuid4())
        body = {
            "allocations": {provider: {"resources": resources}},
            "project_id": project,
            "user_id": user,
            "consumer_generation": None,
        }
        self._send("PUT", f"/allocations/{consumer}", body, CLAIMS_WITHOUT_CONSUMER_TYPE)
        return consumer

    def _inventory(self, provider, resource_class, inventory):
        if resource_class.startswith("CUSTOM_"):
            self._send("PUT", f"/resource_classes/{resource_class}")
        record = inventory if isinstance(inventory, dict) else {"total": inventory}
        body = {"resource_class": resource_class, "max_unit": record["total"], **record}
        self._send("POST", f"/resource_providers/{provider}/inventories", body)

    def _traits(self, provider, traits):
        for trait in traits:
            if trait.startswith("CUSTOM_"):
                self._send("PUT", f"/traits/{trait}")
        generation = self._send("GET", f"/resource_providers/{provider}")["generation"]
        body = {"traits": list(traits), "resource_provider_generation": generation}
        self._send("PUT", f"/resource_providers/{provider}/traits", body)

    def _send(self, method, path, body=None, version=TRAITS_AND_CLASSES):
        headers = {"x-auth-token": "admin", "openstack-api-version": f"placement {version}"}
        content = b""
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body).encode()
        response, answer = self._wire.request(path, method, content, headers)
        if not response["status"].startswith("2"):
            raise Refused(f"{method} {path} {content.decode()}: {response['status']} {answer.decode(errors='replace')}")
        return json.loads(answer) if answer else None
