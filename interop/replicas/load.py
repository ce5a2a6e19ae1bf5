"""Load on the replicas: many callers at once, every answer checked, whatever fails asked again and counted."""

import http.client
import threading
import time

from caller import LEGACY, MODERN, Caller, Refused

VERBS = ["work", "go", "come", "see", "eat", "write"]
PERSONS = ["1sg", "2sg", "3sg", "1pl", "2pl", "3pl"]


class Load:
    """Runs from `with` to its end. `answered` is how many answers came, `failed` why requests failed."""

    def __init__(self, port, callers=8):
        self.port, self.answered, self.failed, self.wrong = port, 0, [], []
        self.lock, self.over = threading.Lock(), threading.Event()
        self.more = threading.Condition(self.lock)
        # Every answer is known beforehand: another caller's answer would be a wrong one.
        self.right = {}
        first = Caller(port)
        for verb in VERBS:
            for person in PERSONS:
                self.right[verb, person] = first.call("conjugate", words(verb, person))["content"][0]["text"]
        first.close()
        eras = [(MODERN, LEGACY)[number % 2] for number in range(callers)]
        self.threads = [threading.Thread(target=self.work, args=(number, era)) for number, era in enumerate(eras)]

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

    def work(self, number, era):
        caller = Caller(self.port, era)
        if era == LEGACY:
            self.until_answered(caller, caller.open)
        turns = list(self.right)
        while not self.over.is_set():
            number += 1
            verb, person = turns[number % len(turns)]
            result = self.until_answered(caller, lambda: caller.call("conjugate", words(verb, person)))
            text = result["content"][0]["text"]
            with self.more:
                self.answered += 1
                if text != self.right[verb, person]:
                    self.wrong.append(f"{verb} {person}: {text}")
                self.more.notify_all()
        caller.close()

    def until_answered(self, caller, ask):
        """What a client program does about a request that failed: it asks again."""
        while True:
            try:
                return ask()
            except (OSError, http.client.HTTPException, Refused) as why:
                with self.lock:
                    self.failed.append(f"{caller.era}: {why!r}")
                if len(self.failed) > 10_000:
                    raise
            time.sleep(0.01)


def words(verb, person):
    return {"verb": verb, "tense": "present_simple", "person": person}
