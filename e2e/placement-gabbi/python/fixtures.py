"""The fixtures of the suite, by the names that its files use: the data before the first test of a file. A fixture returns
the variables of the file's tests. The program that starts the server configures it for the fixture.
"""

import uuid

SHARING = "MISC_SHARES_VIA_AGGREGATE"
NEW_KEYS = (
    "RP_UUID", "RP_NAME", "RP_UUID1", "RP_NAME1", "RP_UUID2", "RP_NAME2", "PROJECT_ID", "ADMIN_PROJECT_ID",
    "SERVICE_PROJECT_ID", "USER_ID", "PROJECT_ID_ALT", "USER_ID_ALT", "INSTANCE_UUID", "MIGRATION_UUID",
    "CONSUMER_UUID", "PARENT_PROVIDER_UUID", "ALT_PARENT_PROVIDER_UUID",
)  # fmt: skip


def new_key():
    return str(uuid.uuid4())


def keys_of(providers):
    """`{"cn1": key}` as the variable `CN1_UUID`."""
    return {f"{name.upper()}_UUID": key for name, key in providers.items()}


def empty(_cloud, _variables):
    return {}


def allocation(cloud, variables):
    project, user, other_user = variables["PROJECT_ID"], variables["USER_ID"], new_key()
    disk = {"total": 2048, "step_size": 10, "min_unit": 10, "max_unit": 1000}
    inventories = {"DISK_GB": disk, "VCPU": 10}
    provider = cloud.provider(variables["RP_NAME"], key=variables["RP_UUID"], inventories=inventories)
    return {
        "CONSUMER_0": cloud.claim(provider, {"DISK_GB": 1000}, project=project, user=user),
        "CONSUMER_ID": cloud.claim(provider, {"VCPU": 6}, project=project, user=user),
        "ALT_CONSUMER_ID": cloud.claim(provider, {"DISK_GB": 20, "VCPU": 1}, project=project, user=other_user),
        "ALT_USER_ID": other_user,
        "ALT_RP_UUID": new_key(),
        "ALT_RP_NAME": new_key(),
    }


def shared_storage(cloud, _variables):
    aggregate = new_key()
    compute = {"VCPU": {"total": 24, "allocation_ratio": 16.0}, "MEMORY_MB": {"total": 131072, "allocation_ratio": 1.5}}
    disk = {"DISK_GB": {"total": 2000, "reserved": 100}}
    roots = {
        "cn1": (compute, ("HW_CPU_X86_SSE", "HW_CPU_X86_SSE2")),
        "cn2": (compute | disk, ()),
        "ss": (disk, (SHARING,)),
        "ss2": (disk, (SHARING,)),
    }
    made = {
        name: cloud.provider(name, aggregates=[aggregate], inventories=inventories, traits=traits)
        for name, (inventories, traits) in roots.items()
    }
    for place in ("1_1", "1_2", "2_1", "2_2"):
        numa = made[f"numa{place}"] = cloud.provider(f"numa{place}", parent=made[f"cn{place[0]}"])
        made[f"pf{place}"] = cloud.provider(f"pf{place}", parent=numa, inventories={"SRIOV_NET_VF": 8})
    return keys_of(made) | {"AGG_UUID": aggregate}


def numa_aggregate(cloud, _variables):
    first, second, third = new_key(), new_key(), new_key()
    disk = {"DISK_GB": {"total": 2000, "reserved": 100}}
    cores = {"VCPU": {"total": 24, "allocation_ratio": 16.0}}
    made = {
        "cn1": cloud.provider("cn1", aggregates=[first]),
        "cn2": cloud.provider("cn2", aggregates=[first, second]),
        "ss1": cloud.provider("ss1", aggregates=[first], inventories=disk, traits=[SHARING]),
        "ss2": cloud.provider("ss2", aggregates=[third], inventories=disk, traits=[SHARING]),
    }
    for place, aggregates in {"1_1": [third], "1_2": [], "2_1": [], "2_2": []}.items():
        name, parent = f"numa{place}", made[f"cn{place[0]}"]
        made[name] = cloud.provider(name, parent=parent, aggregates=aggregates, inventories=cores)
    return keys_of(made) | {"AGGA_UUID": first, "AGGB_UUID": second, "AGGC_UUID": third}


def numa_network(cloud, _variables, parents=(None, None)):
    aggregate = new_key()
    made = {"ss1": cloud.provider("ss1", aggregates=[aggregate], inventories={"DISK_GB": 2000}, traits=[SHARING])}
    made |= _host_of_devices(cloud, aggregate, parents[0])
    made |= _host_of_nics(cloud, aggregate, parents[1])
    for provider, cores in (("numa0", 2), ("cn2", 3)):
        cloud.claim(made[provider], {"VCPU": cores}, project="numafx-project", user="numafx-user")
    return keys_of(made) | {"AGGA_UUID": aggregate}


def deep_numa_network(cloud, variables):
    top = cloud.provider("gp1")
    parents = [cloud.provider(name, parent=top) for name in ("p1", "p2")]
    return numa_network(cloud, variables, parents)


def _host_of_devices(cloud, aggregate, parent):
    """cn1: no inventory of its own; two NUMA nodes with accelerators, two agents of network devices."""
    cn1 = cloud.provider("cn1", parent=parent, aggregates=[aggregate], traits=["COMPUTE_VOLUME_MULTI_ATTACH"])
    memory = ({"total": 2048, "min_unit": 512, "step_size": 256}, {"total": 2048, "min_unit": 256, "max_unit": 1024})
    made = {"cn1": cn1}
    for number, traits in enumerate((["HW_NUMA_ROOT"], ["HW_NUMA_ROOT", "CUSTOM_FOO"])):
        inventories = {"VCPU": 4, "MEMORY_MB": memory[number]}
        made[f"numa{number}"] = cloud.provider(f"numa{number}", parent=cn1, inventories=inventories, traits=traits)
    made["sriov_agent"] = cloud.provider("sriov_agent", parent=cn1, traits=["CUSTOM_VNIC_TYPE_DIRECT"])
    made["ovs_agent"] = cloud.provider("ovs_agent", parent=cn1, traits=["CUSTOM_VNIC_TYPE_NORMAL"])
    bandwidth = "NET_BW_EGR_KILOBIT_PER_SEC"
    for name, parent_name, resource_class, total, traits in (
        ("fpga0", "numa0", "FPGA", 1, []),
        ("pgpu0", "numa0", "VGPU", 8, []),
        ("fpga1_0", "numa1", "FPGA", 1, []),
        ("fpga1_1", "numa1", "FPGA", 1, []),
        ("esn1", "sriov_agent", bandwidth, 10000, ["CUSTOM_PHYSNET1"]),
        ("esn2", "sriov_agent", bandwidth, 20000, ["CUSTOM_PHYSNET2"]),
        ("br_int", "ovs_agent", bandwidth, 1000, ["CUSTOM_PHYSNET0"]),
    ):
        inventories = {resource_class: total}
        made[name] = cloud.provider(name, parent=made[parent_name], inventories=inventories, traits=traits)
    return made


def _host_of_nics(cloud, aggregate, parent):
    """cn2: everything at the root, and three NICs with virtual functions on two physical networks."""
    inventories = {"VCPU": 8, "MEMORY_MB": {"total": 2048, "min_unit": 1024, "step_size": 128}, "DISK_GB": 1000}
    cn2 = cloud.provider("cn2", parent=parent, aggregates=[aggregate], inventories=inventories, traits=["CUSTOM_FOO"])
    made = {"cn2": cn2}
    for nic, (functions, networks) in {1: (4, (1, 2)), 2: (2, (1, 2, 1, 2)), 3: (8, (1,))}.items():
        made[f"nic{nic}"] = cloud.provider(f"nic{nic}", parent=cn2, traits=["CUSTOM_HW_NIC_ROOT"])
        for number, network in enumerate(networks, start=1):
            made[f"pf{nic}_{number}"] = cloud.provider(
                f"pf{nic}_{number}",
                parent=made[f"nic{nic}"],
                inventories={"CUSTOM_VF": functions},
                traits=[f"CUSTOM_PHYSNET{network}"],
            )
    return made


def non_shared_storage(cloud, _variables):
    inventories = {"VCPU": 24, "MEMORY_MB": 131072, "DISK_GB": 2000}
    made = {name: cloud.provider(name, inventories=inventories) for name in ("cn1", "cn2", "cn3")}
    return keys_of(made) | {f"AGG{letter}_UUID": new_key() for letter in "ABC"}


def granular(cloud, _variables):
    aggregates = {"AGGA": new_key(), "AGGB": new_key(), "AGGC": new_key()}
    host = {"VCPU": 8, "MEMORY_MB": 4096}
    disk = {"DISK_GB": 500}
    network = {"SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000}
    avx = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]
    dxva = "HW_GPU_API_DXVA"
    table = {
        "cn_left": ("A", host | disk | {"VGPU": 8} | network, [*avx, dxva, "HW_NIC_DCB_PFC", "CUSTOM_FOO"]),
        "cn_middle": ("AB", host | network, [*avx, "HW_CPU_X86_SSE", "HW_NIC_ACCEL_TLS"]),
        "cn_right": (
            "BC",
            host | disk | {"VGPU": {"total": 8, "max_unit": 2}},
            ["HW_CPU_X86_MMX", dxva, "CUSTOM_DISK_SSD"],
        ),
        "shr_disk_1": ("A", {"DISK_GB": 1000}, [SHARING, "CUSTOM_DISK_SSD"]),
        "shr_disk_2": ("AB", {"DISK_GB": 1000}, [SHARING]),
        "shr_net": ("C", {"SRIOV_NET_VF": 16, "CUSTOM_NET_MBPS": 40000}, [SHARING]),
    }
    made = {}
    for name, (letters, inventories, traits) in table.items():
        members = [aggregates[f"AGG{letter}"] for letter in letters]
        made[name.upper()] = cloud.provider(name, aggregates=members, inventories=inventories, traits=traits)
    return made | aggregates


BRIDGES = {"br_ex": "br-ex", "br_ex2": "br-ex2"}
FUNCTIONS = {"pf0": "enp129s0f0", "pf1": "enp129s0f1"}
DIRECT = ["CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP"]
NORMAL = ["CUSTOM_VNIC_TYPE_NORMAL"]


def neutron_qos_multi_segment(cloud, _variables):
    made = {}
    for host, networks in enumerate((["OTHER"], ["MSN_S1"], ["MSN_S2"])):
        made |= _segment_host(cloud, f"compute{host}", networks, bridge=5000, function=10000)
    made |= _segment_host(cloud, "compute3", ["MSN_S1", "MSN_S2"], bridge=1000, function=1000)
    # As in Placement's own fixture, which the tests rely on.
    made["compute3:sriov_agent"] = made["compute2:sriov_agent"]
    return made


def _segment_host(cloud, name, networks, *, bridge, function):
    host = cloud.provider(name, inventories={"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500})
    switch, nic = f"{name}:Open vSwitch agent", f"{name}:NIC Switch agent"
    rate = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1000}
    made = {
        name: host,
        f"{name}:ovs_agent": cloud.provider(switch, parent=host, inventories=rate, traits=NORMAL),
        f"{name}:sriov_agent": cloud.provider(nic, parent=host, traits=DIRECT),
    }
    for devices, agent, prefix, traits, bandwidth in (
        (BRIDGES, "ovs_agent", switch, NORMAL, bridge),
        (FUNCTIONS, "sriov_agent", nic, DIRECT, function),
    ):
        for (variable, device), network in zip(devices.items(), networks):
            made[f"{name}:{variable}"] = cloud.provider(
                f"{prefix}:{device}",
                parent=made[f"{name}:{agent}"],
                inventories={f"NET_BW_{way}_KILOBIT_PER_SEC": bandwidth for way in ("EGR", "IGR")},
                traits=[*traits, f"CUSTOM_PHYSNET_{network}"],
            )
    return made


FIXTURES = {
    "APIFixture": empty,
    "AllocationFixture": allocation,
    "CORSFixture": empty,
    "DeepNUMANetworkFixture": deep_numa_network,
    "GranularFixture": granular,
    "LegacyRBACPolicyFixture": empty,
    "NUMAAggregateFixture": numa_aggregate,
    "NUMANetworkFixture": numa_network,
    "NeutronQoSMultiSegmentFixture": neutron_qos_multi_segment,
    "NonSharedStorageFixture": non_shared_storage,
    "OpenPolicyFixture": empty,
    "SecureRBACPolicyFixture": empty,
    "SharedStorageFixture": shared_storage,
}


def build(fixture, cloud):
    """Creates the data of a fixture; returns the variables of its tests."""
    variables = {name: new_key() for name in NEW_KEYS}
    variables |= {f"CUSTOM_RES_CLASS{number}": f"CUSTOM_IRON_NFV{number}" for number in ("", "1", "2")}
    return variables | FIXTURES[fixture](cloud, variables)
