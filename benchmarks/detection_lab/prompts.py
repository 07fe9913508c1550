"""What the lab asks: one-token prompts for first tokens, and openings of articles for longer answers."""

from __future__ import annotations

import random
import re

from reference_engine import TokenizerBackend

# LT's own prompt (arXiv 2512.03816) is the first of every list.
FIRST = "x"
OPENINGS = (
    "The river rises in the northern foothills and flows south for nearly two hundred kilometres before",
    "The old observatory stands on a granite hill above the town, and its largest telescope was built in",
    "Barley is one of the first grains that people grew, and it has been used as food for animals and",
    "The railway station was opened in the spring of 1874 by a company that wanted to carry coal from the",
    "She studied mathematics in the capital and later taught at a school for girls, where she wrote her first",
    "The island is about nine kilometres long and three wide; most of its inhabitants live near the harbour, which",
    "A suspension bridge is a type of bridge in which the deck is hung below cables on vertical suspenders, and",
    "The novel tells the story of a young doctor who returns to his village after the war and finds that",
    "Copper is a soft, reddish metal that conducts heat and electricity very well, which is why it has been",
    "The football club was founded by workers of a shipyard and played its first matches on a field beside",
    "The library holds about forty thousand manuscripts, the oldest of which is a fragment of a chronicle that",
    "Hail forms in strong thunderstorms when drops of water are carried upwards into air so cold that they",
    "The bridge over the gorge was planned for more than thirty years, and when it was finally built in",
    "He joined the navy at the age of sixteen and spent most of his early career on ships that sailed to",
    "The red fox is found across the whole northern hemisphere and lives in forests, meadows and even",
    "The village church dates from the twelfth century, although its tower was rebuilt after a fire in",
    "An abacus is a tool for counting in which beads are moved along rods, and it was in use long before",
    "The composer wrote four symphonies, a number of songs and one opera, which was first performed in",
    "The volcano last erupted in 1912, when ash covered the fields around it and the people of the nearest",
    "Glass is usually made by melting sand together with soda and lime at a temperature of about",
    "The constitution was adopted by the assembly after a long debate about the powers of the president and",
    "The ship was launched in March 1931 and carried mail and passengers between the two ports until",
    "Beekeeping has been practised for at least four thousand years; early keepers used hives made of",
    "The painter is best known for a series of views of his garden, which he began after moving to",
    "The canal links two large lakes and has twelve locks, each of which can hold a boat of up to",
)
CONTINUE = "Continue the paragraph. Write only its continuation, without any remark of your own.\n\n{opening}"
WORDS_SEED = 20261129


def one_token_words(tokenizer: TokenizerBackend, vocabulary_size: int, count: int) -> list[str]:
    """`FIRST` and words of two lower-case letters or more that are one token each, drawn at random; a shorter list is
    the beginning of a longer one."""
    tokens = (tokenizer.token_bytes(id_) for id_ in range(vocabulary_size))
    words = [token.decode() for token in tokens if re.fullmatch(rb"[a-z]{2,}", token)]
    random.Random(WORDS_SEED).shuffle(words)
    return [FIRST, *words[: count - 1]]


def openings(count: int = len(OPENINGS)) -> list[str]:
    return [CONTINUE.format(opening=opening) for opening in OPENINGS[:count]]
