"""A way to another machine that loses packets as it is told to, on one machine and without rights to its network.

In a network namespace of its own a TUN device has the address HERE/24. A thread takes every packet that goes into it,
swaps where it comes from with where it goes to, and gives it back. So a connection to THERE arrives at HERE as if from
another machine, with the kernel's own TCP at both ends. Swapping changes no checksum.
"""

import fcntl
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

HERE, THERE = "10.9.0.1", "10.9.0.2"
DEVICE = b"far0"

# From linux/if_tun.h, linux/if.h and linux/sockios.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP = 0x8913, 0x8914, 0x8916, 0x891C, 0x1

# Flags of TCP.
SYN, ACK = 0x02, 0x10


class NoWay(Exception):
    """What this machine lacks."""


def enter(command):
    """Runs a command as it is, in a network namespace of its own where it may make devices, and never comes back."""
    refused = []
    for rights in [["--map-root-user"], []] if os.geteuid() else [[], ["--map-root-user"]]:
        words = ["unshare", *rights, "--net"]
        if not shutil.which("unshare"):
            raise NoWay("there is no unshare: install util-linux")
        tried = subprocess.run([*words, "true"], stderr=subprocess.PIPE, text=True)
        if tried.returncode == 0:
            sys.stdout.flush()
            os.execvp("unshare", [*words, *map(str, command)])
        refused.append(tried.stderr.strip())
    raise NoWay(
        "a network namespace is needed, and refused: run this as root, or where everybody may have user namespaces "
        "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0; in a container, "
        f"--security-opt seccomp=unconfined or --cap-add SYS_ADMIN)\n{chr(10).join(refused)}"
    )


def device(command):
    """The TUN device of this namespace, made and up; loopback is up, too.

    A user that is root by name alone continues as another user, with the command and `--tun` DEVICE: PostgreSQL refuses root.
    """
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE, IFF_TUN | IFF_NO_PI))
    except OSError as why:
        raise NoWay(
            f"a TUN device is needed, and none can be had ({why}): load the kernel's module tun, or let everybody open "
            "/dev/net/tun; in a container, --device /dev/net/tun"
        ) from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for request, address in [(SIOCSIFADDR, HERE), (SIOCSIFNETMASK, "255.255.255.0")]:
            family = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(asked, request, struct.pack("16s16s8x", DEVICE, family))
        for name in (DEVICE, b"lo"):
            flags = fcntl.ioctl(asked, SIOCGIFFLAGS, struct.pack("16s24x", name))
            flags = struct.unpack_from("H", flags, 16)[0] | IFF_UP
            fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sH22x", name, flags))
    if root_by_name():
        os.set_inheritable(tun, True)
        os.execvp("unshare", ["unshare", "--map-user=65534", *map(str, command), "--tun", str(tun)])
    return tun


def root_by_name():
    """Whether root is the only user in this user namespace."""
    return [line.split()[2] for line in Path("/proc/self/uid_map").read_text().splitlines()] == ["1"]


class Far:
    """The way to the port of a server at THERE. Each packet is lost by a chance whose dice are the same each time."""

    def __init__(self, tun, port):
        self.tun, self.port, self.loss, self.dice = tun, port, 0.0, random.Random(1)
        self.known, self.forgotten, self.lost, self.passed = set(), set(), 0, 0
        threading.Thread(target=self.carry, daemon=True).start()

    def lose(self, share):
        """From now on this share of packets is lost; 1 is all of them."""
        self.loss = share

    def forget(self):
        """From now on nothing passes of the connections that there are, as after a firewall has forgotten them."""
        self.forgotten |= self.known.copy()

    def carry(self):
        while True:
            packet = bytearray(os.read(self.tun, 65536))
            if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
                continue  # IPv6 looks for neighbours
            start = (packet[0] & 15) * 4
            client = next((port for port in struct.unpack_from("!HH", packet, start) if port != self.port), self.port)
            self.known.add(client)
            if packet[start + 13] & (SYN | ACK) == SYN:
                self.forgotten.discard(client)  # a new connection may have an old one's port
            if self.dice.random() < self.loss or client in self.forgotten:
                self.lost += 1
                continue
            packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
            os.write(self.tun, packet)
            self.passed += 1
