"""Texts to score: English prose and code of more than 520 tokens, and a shorter one in several scripts."""

ENGLISH = '''The lighthouse keeper had counted ships for thirty-one years, and in all that time he had never been wrong.
Every evening at half past six he climbed the hundred and twelve steps, wiped the salt from the glass, lit the lamp,
and opened the heavy ledger on the page of the day. Two freighters northbound, one trawler, the ferry from the islands,
a yacht under a torn sail. He wrote slowly, because nobody was waiting for the numbers. The harbour office had stopped
asking for them when the radar was installed, but the ledger was there, and the pencil was there, and so he went on.

On the last Thursday of November the ferry did not come. He waited until the tide had turned, then he looked again at
the column for the ferry, where the same small stroke stood for every single day, and left the space empty. It was the
first empty space in the book. At nine o'clock the telephone rang. "Have you seen her?" asked a woman's voice, and he
knew at once which ship she meant. "No," he said, "but the wind is from the west, and she is slow in a west wind. Give
her another hour." He did not tell her about the empty space. Instead he turned the lamp up as far as it would go, which
was against the rules, and stood beside it until his eyes hurt.

What does it mean to measure something faithfully? A thermometer that always shows two degrees too much is more useful
than one that is right on average but wanders, because the first can be corrected and the second can only be doubted.
The same is true of people, of clocks, and of any machine that answers questions: we forgive a steady error sooner than
an unsteady truth. If the price of bread changes from 2.40 to 2.65 we notice; if the loaf becomes 6 % lighter we do not.

```python
def moving_average(values: list[float], width: int = 3) -> list[float]:
    """Mean of each run of `width` neighbours; shorter at the borders."""
    if width < 1:
        raise ValueError(f"width must be positive, got {width}")
    result = []
    for i in range(len(values)):
        window = values[max(0, i - width + 1) : i + 1]
        result.append(sum(window) / len(window))
    return result


if __name__ == "__main__":
    print(moving_average([1.0, 2.0, 4.0, 8.0, 16.0]))  # [1.0, 1.5, 2.33, 4.67, 9.33]
```

The ferry came in at a quarter to eleven, with one engine dead and a fishing boat holding her off the rocks. The keeper
watched her lights cross the bar, took up the pencil, and drew the small stroke in its place. Then, because the ledger
asked only whether a ship had passed and not how, he closed the book and went down to put the kettle on.
'''

MULTILINGUAL = """Der Zug fährt um 7:45 Uhr ab, sagt die Durchsage, und natürlich kommt er später.
Où est la bibliothèque ? Она читает письмо у окна и улыбается. 東京は今日も雨です。明日は晴れるでしょう。
오늘은 날씨가 좋습니다. Η θάλασσα είναι ήρεμη.
هذا الكتاب قديم جدا. यह एक छोटा वाक्य है। 😀 ¿Cuánto cuesta? – 12,50 €.
"""
