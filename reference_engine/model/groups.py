"""Layers whose queries look back equally far: their keys and values are kept for as long, under one page table."""

from __future__ import annotations

from dataclasses import dataclass

from reference_engine.model.config import ModelConfig


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`window` is how many keys a query looks back at, itself included; 0 for all of them."""

    window: int
    layers: tuple[int, ...]


def layer_groups(config: ModelConfig) -> tuple[LayerGroup, ...]:
    """Those that look at everything come first."""
    return tuple(
        LayerGroup(window, tuple(layer for layer, own in enumerate(config.windows) if own == window))
        for window in sorted(set(config.windows))
    )


def places_of_layers(config: ModelConfig) -> list[tuple[int, int]]:
    """Of each layer, the number of its group and its place among the group's layers."""
    groups = layer_groups(config)
    places = {layer: (number, place) for number, group in enumerate(groups) for place, layer in enumerate(group.layers)}
    return [places[layer] for layer in range(config.n_layers)]
