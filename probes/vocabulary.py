"""The words and sentence frames private prompts are made of; changing any of them is a new grammar version.

A frame's {slots} are filled from `WORDS` or, where no list has that name, from the inventing slots of grammar.py.
Frames are phrased so that many first words of an answer are likely: an answer that can only begin one way tells
nothing about the model behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Frame(NamedTuple):
    """One family of prompts. `foreign` ones bring accents, other scripts, long digit runs or emoji."""

    family: str
    text: str
    foreign: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


WORDS: Mapping[str, tuple[str, ...]] = {
    "adjective": _words(
        "patient crooked hollow generous restless narrow forgotten clever salty quiet dusty brave lopsided "
        "velvet stubborn foggy cheerful rusty tiny polite windy golden sleepy curious"
    ),
    "animal": _words(
        "heron badger beetle goat magpie tortoise weasel carp donkey lynx moth crab ferret hare toad "
        "pelican newt walrus"
    ),
    "thing": _words(
        "lantern kettle compass ladder violin barometer teapot mirror whistle suitcase chessboard "
        "bicycle typewriter thimble harmonica telescope wheelbarrow sundial candle bucket"
    ),
    "goods": _words(
        "pears candles maps buttons radishes clocks lemons postcards ropes mussels tulips notebooks walnuts kites "
        "spoons blankets onions marbles"
    ),
    "job": _phrases(
        "lighthouse keeper,baker,surveyor,bell ringer,ferry captain,beekeeper,piano tuner,night porter,glazier,"
        "botanist,train driver,locksmith,shepherd,cartographer,tailor"
    ),
    "topic": _phrases(
        "the smell of rain,old bridges,learning to swim,lost letters,winter markets,bread,sleeping trains,tides,"
        "borrowed books,stone walls,early mornings,broken clocks,paper boats,mountain huts,summer storms,salt,"
        "small kitchens,silence,ferries at night,garden gates"
    ),
    "month": _words("January February March April May June July August September October November December"),
    "feeling": _words("proud homesick nervous grateful bored hopeful jealous calm surprised lonely"),
    "colour": _words("blue crimson grey turquoise violet green copper black"),
    "verb": _words("counts repairs paints forgets collects hides polishes sketches lends weighs"),
    "accented": _phrases(
        "Zoë Müller,Łukasz Żak,Søren Ågård,José Ibáñez,Çağla Yılmaz,Márta Őze,Renée Côté,Jiří Dvořák,Níamh Ó Sé,"
        "Þóra Jónsdóttir,Ștefan Țurcanu,Đorđe Šarić"
    ),
    "far_city": _words("Kraków Zürich Málaga Tromsø Győr Chișinău Besançon Göttingen İzmir Plzeň Évora Ålesund"),
    "french": _phrases(
        "la forêt enneigée,un été à Nîmes,le vieux château,une pêche mûre,l'élève rêveur,la crème brûlée,"
        "les fenêtres ouvertes,le théâtre fermé"
    ),
    "german": _phrases(
        "den müden Bäcker,die grüne Brücke,schöne Grüße,das Frühstück am Fluß,den größten Käse,die Tür im Flur,"
        "süße Äpfel,den Schlüssel"
    ),
    "spanish": _phrases(
        "el niño y el búho,la canción de mañana,un año en Ávila,el pingüino,la bahía,el camión azul,"
        "el corazón de piedra,la lámpara"
    ),
    "russian": _phrases("старый мост,тёплый дождь,пустой вокзал,рыжего кота,зимний сад,бумажный кораблик"),
    "greek": _phrases("τη θάλασσα,το παλιό ρολόι,ένα μικρό πλοίο,το ψωμί,τον άνεμο,τη γέφυρα"),
    "arabic": _phrases("القمر,الكتاب القديم,المطر,البيت الصغير,القطار,البحر"),
    "chinese": _phrases("一座旧桥,春天的雨,夜里的火车,奶奶的茶壶,山上的小屋,失踪的猫,冬天的市场,海边的灯塔"),
    "japanese": _phrases("古い時計,雨の朝,小さな駅,白い猫,海の音,紙の船,冬の市場,赤い傘"),
    "korean": _phrases("오래된 다리,겨울 시장,작은 배,비 오는 아침,빨간 우산,조용한 밤"),
    "emoji": _words("🦊 🌧️ 🚲 🍋 🎻 🧭 🐢 🌋 🧦 🎈 🥁 🦉 🍄 ⛵ 🪁 🧊 🐝 🌵"),
}

FRAMES: tuple[Frame, ...] = (
    Frame("opening", "Write the opening words of a story about a {adjective} {job} from {place}."),
    Frame("opening", "Begin a fairy tale in which a {animal} and a {animal} share a {thing} near {place}."),
    Frame("one-word", "In one word, how does a {adjective} {thing} from {place} feel in {month}?"),
    Frame("one-word", "Give one word that links {topic} with a {job} called {person}."),
    Frame("list", "Continue this list with one thing of your own: {thing}, {animal}, {goods}, {surname},"),
    Frame("list", "Name something {person} would never put in a {colour} {thing}."),
    Frame("naming", "Suggest a name for a shop in {place} that sells {adjective} {goods}."),
    Frame("naming", "What would you call a {colour} {animal} that {verb} {goods} in {place}?"),
    Frame("slogan", "Write a slogan for {surname} & Sons, makers of {adjective} {goods} since {year}."),
    Frame("poem", "Start a two-line poem about {topic} and the {adjective} {thing} of {place}."),
    Frame("question", "What does a {job} in {place} talk about with a {adjective} {animal}?"),
    Frame("question", "Why might {person} feel {feeling} about {topic} every {month}?"),
    Frame("choice", "Would you rather own {few} {adjective} {goods} or one {colour} {thing} from {place}?"),
    Frame("fact", "People in {place} say '{surname}' when they see a {animal}. What could it mean?"),
    Frame("fact", "The {thing} of {place} was built in {year} by {person}. Tell me something about it."),
    Frame("completion", "Complete the sentence: The {adjective} {thing} that {person} lost in {month} was"),
    Frame("completion", "Go on from here: {person} opened the {colour} door and saw {few} {goods} and"),
    Frame("dialogue", "What would {person}, a {feeling} {job}, say to a {animal}?"),
    Frame("riddle", "Make up a riddle about a {thing} and {few} {goods} for the children of {place}."),
    Frame("arithmetic", "{person} has {few} {goods} and gives {two} to a {job}. Say what happens next."),
    Frame("code", "Write one line of Python that uses a list named {snake} and the number {few}."),
    Frame("code", "Suggest a better name for the function {snake}_{few}(), which {verb} {goods}."),
    Frame("title", "Give a title to a diary page about {topic}, {few} {goods} and {person}."),
    Frame("advice", "{person} lost {few} {goods} on the way to {place}. Give one piece of advice."),
    Frame("accents", "What would {accented} from {far_city} write on a postcard to {place} in {year}?", True),
    Frame(
        "accents", "My train from {far_city} to {far_city} has {few} stops and carries {goods}. One tip, please.", True
    ),
    Frame("accents", "Name one dish {accented} could cook for {few} guests in {far_city} in {month}.", True),
    Frame("french", "Écris une phrase sur {french} et {few} objets trouvés à {place}.", True),
    Frame("french", "Traduis en anglais, à ta façon : {french} de {person}, en {year}.", True),
    Frame("german", "Schreibe einen kurzen Satz über {german} und {few} Gäste aus {place}.", True),
    Frame("spanish", "Escribe una frase sobre {spanish}, {place} y el número {few}.", True),
    Frame("russian", "Напиши одно предложение про {russian}, число {few} и {person}.", True),
    Frame("greek", "Γράψε μια πρόταση για {greek} και τον αριθμό {few}, {place}.", True),
    Frame("arabic", "اكتب جملة عن {arabic} والرقم {few} و {place}.", True),
    Frame("chinese", "请写一句话，关于{chinese}和数字{few}，提到{place}。", True),
    Frame("japanese", "{japanese}と数字{few}を使って、{place}の短い文を書いてください。", True),
    Frame("korean", "{korean}과 숫자 {few}, 그리고 {place}에 대해 한 문장을 써 주세요.", True),
    Frame("emoji", "Someone drew {emoji}{emoji}{emoji} on a wall in {place}. Tell {person} what it means.", True),
    Frame("emoji", "The sign of the {surname} shop shows {emoji} {emoji} {emoji}. Name something sold there.", True),
    Frame("digits", "Which of these numbers looks luckiest, and why: {number}, {number}, {number} or {number}?", True),
    Frame("digits", "Ticket {number}-{number} was sold in {place} for {few},{two}0 €. Who bought it?", True),
)

# Before a frame, these make a prompt that nobody has ever sent: each holds at least a person and a number.
NONCES: tuple[str, ...] = (
    "Note {ticket} for {person}:",
    "{person} ({code}) asks:",
    "A question from {person}, room {ticket}:",
    "Card {code}, written by {person}.",
    "{person} of {place} wrote on ticket {ticket}:",
    "Letter {ticket} to {person}:",
    "Order {code}, for {person}:",
    "Page {ticket} of {person}'s notebook.",
)

SYSTEM_MESSAGES: tuple[str, ...] = (
    "You work at the desk of the {place} library. Keep answers short.",
    "You are {person}, a {feeling} {job}. Answer in one sentence.",
    "Answer plainly and briefly. The reader lives in {place} and is {few} years old.",
    "You write captions for the {place} museum of {goods}. Use few words.",
)

LONG_ANSWERS: tuple[Frame, ...] = (
    Frame("story", "Tell a long story about a {job} named {person} who travels to {place} with {few} {goods}."),
    Frame(
        "guide", "Write a detailed travel guide to {place}, the town of {few} {adjective} {goods}, with many sections."
    ),
    Frame("history", "Describe at length the history of the {thing} makers of {place} since {year}, decade by decade."),
    Frame("letters", "Write a long letter from {person} to a {feeling} {job} about {topic} and {few} {goods}."),
)

ONSETS: tuple[str, ...] = _words("b br c d dr f g gr h k l m n p pr qu r s st t tr v w z")
VOWELS: tuple[str, ...] = _words("a e i o u ai ea io ou")
CODAS: tuple[str, ...] = ("", "l", "n", "r", "s", "th", "nd", "m")
FIRST_NAMES: tuple[str, ...] = _words(
    "Ada Bruno Carla Dorian Edda Felix Greta Hugo Ines Jonas Klara Leon Mira Nils Olga Pavel Rosa Stellan Tilda "
    "Ulrik Vera Wanda Yusuf Zora"
)
