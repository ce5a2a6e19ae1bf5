"""Load on the replicas: many callers at once, every answer checked, whatever fails asked again and counted."""

import http.client
import threading
import time
from itertools import product

from caller import LEGACY, MODERN, Caller, Refused

VERBS = ["work", "go", "come", "see", "eat", "write"]
PERSONS = ["1sg", "2sg", "3sg"]
TENSES = ["present_simple", "simple_future"]


class Load:
    """Runs from `with` to its end. `answered` is how many answers came, `failed` why requests failed, `slowest` how
    many seconds one took at most.

    `questions` are pairs of a tool and its arguments. What `excuse` says of a result is why it is no answer, or nothing.
    """

    def __init__(self, port, callers=8, questions=None, excuse=lambda _: None):
        self.port, self.answered, self.failed, self.wrong, self.slowest = port, 0, [], [], 0.0
        self.lock, self.over, self.excuse = threading.Lock(), threading.Event(), excuse
        self.more = threading.Condition(self.lock)
        self.questions = questions or [("conjugate", words(*each)) for each in product(VERBS, TENSES, PERSONS)]
        self.right = [set() for _ in self.questions]
        self.learn()
        revisions = [(MODERN, LEGACY)[number % 2] for number in range(callers)]
        self.threads = [threading.Thread(target=self.work, args=(number, revision)) for number, revision in enumerate(revisions)]

    def learn(self):
        """Every answer is known beforehand: another caller's would be a wrong one. What is answered now is right."""
        first = Caller(self.port)
        for right, question in zip(self.right, self.questions):
            result = first.call(*question)
            if result.get("isError"):
                raise AssertionError(f"{question}: {text(result)}")
            right.add(text(result))
        first.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def wait_for(self, answers, longest=120):
        """Waits until so many more answers have come."""
        with self.more:
            end = self.answered + answers
            if not self.more.wait_for(lambda: self.answered >= end, longest):
                raise AssertionError(f"no {answers} answers in {longest} s; failed: {self.failed[-5:]}")

    def work(self, number, revision):
        caller = Caller(self.port, revision)
        if revision == LEGACY:
            self.until_answered(caller, caller.open)
        while not self.over.is_set():
            number += 1
            turn = number % len(self.questions)
            result = self.until_answered(caller, lambda: caller.call(*self.questions[turn]))
            if result is None:
                break
            with self.more:
                self.answered += 1
                if text(result) not in self.right[turn]:
                    self.wrong.append(f"{self.questions[turn]}: {text(result)}")
                self.more.notify_all()
        caller.close()

    def until_answered(self, caller, ask):
        """What a client program does about a request that failed: it asks again, until all is over."""
        while True:
            begun = time.monotonic()
            try:
                result = ask()
                why = self.excuse(result)
            except (OSError, http.client.HTTPException, Refused) as error:
                why = repr(error)
            with self.lock:
                self.slowest = max(self.slowest, time.monotonic() - begun)
                if not why:
                    return result
                self.failed.append(f"{caller.revision}: {why}")
            if len(self.failed) > 10_000:
                raise AssertionError(f"too much fails: {self.failed[-5:]}")
            if self.over.is_set():
                return None
            time.sleep(0.01)


def text(result):
    return result["content"][0]["text"]


def words(verb, tense, person):
    return {"verb": verb, "tense": tense, "person": person}
