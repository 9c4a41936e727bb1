"""Netlists of single cells, by hand."""

from spica.synth.energy.mapped_netlist import netlist_from

__all__ = ["netlist_of"]


def netlist_of(library, ports, *cells):
    """Return a netlist of cells, of kinds and nets of pins; net 2 is the clock.

    `ports` has direction and net of each port, by name.
    """
    named = {name: {"direction": way, "bits": [net]} for name, (way, net) in ports.items()}
    module = {
        "ports": named,
        "cells": {
            f"u{k}": {"type": kind, "connections": {pin: [net] for pin, net in nets.items()}}
            for k, (kind, nets) in enumerate(cells)
        },
        "netnames": {
            name: {"hide_name": 0, "bits": port["bits"]}
            for name, port in ({"clk": {"bits": [2]}} | named).items()
        },
    }
    return netlist_from(module, library, "some", {})
