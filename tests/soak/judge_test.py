# SPDX-License-Identifier: Apache-2.0
"""The judge finds each kind of violation and excuses only what the guarantees name."""

import unittest

from judge import (ANSWER, HEADROOM, Acquisition, Loss, Memory, Rejoin, Silence, count, judge,
                   parse_log)

S = 1_000_000


def held(token, sent, granted, end, confirmed=None, client="c", name="n"):
    confirmed = sent if confirmed is None else confirmed
    return Acquisition(client, name, token, sent, granted, end, confirmed)


def unexpected(acquisitions, memory=None):
    found = count(judge(acquisitions, memory or Memory(1, [])))
    return {kind: n["unexpected"] for kind, n in found.items() if n["unexpected"]}


def expected(acquisitions, memory):
    found = count(judge(acquisitions, memory))
    return {kind: n["expected"] for kind, n in found.items() if n["expected"]}


class Overlaps(unittest.TestCase):
    def test_windows_that_touch_do_not_overlap(self):
        self.assertEqual(unexpected([held(1, 0, 1, 10), held(2, 2, 10, 20)]), {})

    def test_windows_that_cross_overlap(self):
        self.assertEqual(unexpected([held(1, 0, 1, 10), held(2, 2, 9, 20)]), {"overlap": 1})

    def test_long_window_overlaps_each_later_one(self):
        self.assertEqual(unexpected([held(1, 0, 1, 100), held(2, 2, 9, 20), held(3, 30, 31, 40)]),
                         {"overlap": 2})

    def test_grant_that_was_over_on_arrival_overlaps_nothing(self):
        self.assertEqual(unexpected([held(1, 0, 1, 10), held(2, 0, 9, 9)]), {})

    def test_other_name_does_not_overlap(self):
        self.assertEqual(unexpected([held(1, 0, 1, 10), held(2, 2, 9, 20, name="m")]), {})

    def test_loss_of_memory_excuses_no_overlap(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, -HEADROOM)])
        self.assertEqual(unexpected([held(1, 0, 1, 10), held(2, 8, 9, 20)], memory), {"overlap": 1})


class Tokens(unittest.TestCase):
    def test_same_token_twice_is_a_duplicate(self):
        self.assertEqual(unexpected([held(5, 0, 1, 2), held(5, 3, 4, 5)]), {"duplicate": 1})

    def test_lower_token_later_is_an_inversion(self):
        self.assertEqual(unexpected([held(5, 0, 1, 2), held(4, 3, 4, 5)]), {"inversion": 1})

    def test_requests_side_by_side_may_have_any_order(self):
        self.assertEqual(unexpected([held(5, 0, 3, 4), held(4, 2, 5, 6)]), {})

    def test_layout_without_tokens_is_judged_by_windows_alone(self):
        self.assertEqual(unexpected([held(0, 0, 1, 2), held(0, 3, 4, 5)]), {})

    def test_each_acquisition_counts_once(self):
        self.assertEqual(unexpected([held(5, 0, 1, 2), held(6, 3, 4, 5), held(4, 6, 7, 8)]),
                         {"inversion": 1})


class OneServer(unittest.TestCase):
    def after_loss(self, floor, tokens=(100 * S, 90 * S), **more):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, floor - HEADROOM)], **more)
        return [held(tokens[0], 0, 1, 2), held(tokens[1], 9, 10, 11)], memory

    def test_lower_token_is_expected_when_both_clocks_were_behind(self):
        acquisitions, memory = self.after_loss(floor=100 * S)
        self.assertEqual(unexpected(acquisitions, memory), {})
        self.assertEqual(expected(acquisitions, memory), {"inversion": 1})

    def test_lower_token_is_unexpected_when_one_clock_was_above(self):
        self.assertEqual(unexpected(*self.after_loss(floor=100 * S + 1)), {"inversion": 1})

    def test_same_token_is_judged_like_a_lower_one(self):
        same = (100 * S, 100 * S)
        self.assertEqual(unexpected(*self.after_loss(100 * S + 1, same)), {"duplicate": 1})
        self.assertEqual(expected(*self.after_loss(100 * S, same)), {"duplicate": 1})

    def test_restart_with_data_excuses_nothing(self):
        memory = Memory(1, [Rejoin(0, 8, 0)])
        self.assertEqual(unexpected([held(100 * S, 0, 1, 2), held(9, 9, 10, 11)], memory),
                         {"inversion": 1})

    def test_loss_before_the_first_of_two_excuses_nothing(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 0)])
        self.assertEqual(unexpected([held(100 * S, 9, 10, 11), held(50 * S, 12, 13, 14)], memory),
                         {"inversion": 1})

    def test_hold_renewed_after_the_loss_is_remembered(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 0)])
        renewed = held(100 * S, 0, 1, 8, confirmed=6)
        self.assertEqual(unexpected([renewed, held(50 * S, 9, 10, 11)], memory), {"inversion": 1})

    def test_second_loss_with_good_clocks_excuses_nothing(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 0), Loss(0, 20), Rejoin(0, 23, 200 * S)])
        self.assertEqual(unexpected([held(100 * S, 0, 1, 2), held(50 * S, 24, 25, 26)], memory),
                         {"inversion": 1})

    def test_loss_between_grant_and_answer_takes_no_excuse_away(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 0), Loss(0, 10)])
        self.assertEqual(unexpected([held(100 * S, 0, 1, 2), held(50 * S, 9, 11, 12)], memory), {})

    def test_rejoin_with_good_clocks_before_the_request_excuses_nothing(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 0), Loss(0, 9), Rejoin(0, 12, 200 * S)])
        self.assertEqual(unexpected([held(100 * S, 0, 1, 2), held(50 * S, 13, 14, 15)], memory),
                         {"inversion": 1})

    def test_unexpected_one_is_found_behind_an_expected_one(self):
        memory = Memory(1, [Loss(0, 5), Rejoin(0, 8, 80 * S - HEADROOM)])
        acquisitions = [held(100 * S, 0, 1, 2), held(70 * S, 3, 4, 5), held(60 * S, 9, 10, 11)]
        found = [v for v in judge(acquisitions, memory) if not v.expected]
        self.assertEqual([(v.first.token, v.second.token) for v in found],
                         [(100 * S, 70 * S), (70 * S, 60 * S)])


class SeveralServers(unittest.TestCase):
    pair = [held(100 * S, 0, 1, 2), held(90 * S, 900 * S, 901 * S, 902 * S)]

    def verdict(self, servers, events, **more):
        return unexpected(self.pair, Memory(servers, events, **more))

    def test_loss_of_a_minority_excuses_nothing(self):
        self.assertEqual(self.verdict(3, [Loss(0, 5), Rejoin(0, 8, 0)]), {"inversion": 1})
        events = [Loss(0, 5), Loss(1, 5), Rejoin(0, 8, 0), Rejoin(1, 8, 0)]
        self.assertEqual(self.verdict(5, events), {"inversion": 1})

    def test_minorities_one_after_the_other_excuse_nothing(self):
        events = [e for i in range(3) for e in (Loss(i, 10 * i + 5), Rejoin(i, 10 * i + 8, 0))]
        self.assertEqual(self.verdict(3, events), {"inversion": 1})

    def test_loss_of_a_majority_is_judged_by_clocks(self):
        behind = [Loss(0, 5), Loss(1, 6), Rejoin(0, 8, 0), Rejoin(1, 9, 0)]
        self.assertEqual(self.verdict(3, behind), {})
        ahead = [Loss(0, 5), Loss(1, 6), Rejoin(0, 8, 100 * S), Rejoin(1, 9, 0)]
        self.assertEqual(self.verdict(3, ahead), {"inversion": 1})

    def test_ten_seconds_above_a_clock_count(self):
        events = [Loss(0, 5), Loss(1, 6), Rejoin(0, 8, 95 * S), Rejoin(1, 9, 88 * S)]
        self.assertEqual(self.verdict(3, events), {"inversion": 1})

    def test_one_bad_clock_of_three_is_no_majority(self):
        events = [Loss(i, 5 + i) for i in range(3)]
        events += [Rejoin(0, 9, 0), Rejoin(1, 10, 100 * S), Rejoin(2, 11, 100 * S)]
        self.assertEqual(self.verdict(3, events), {"inversion": 1})

    def test_floor_from_the_others_counts_no_clock(self):
        forgotten = [Loss(i, 5 + i) for i in range(3)] + [Rejoin(i, 10 + i, 0) for i in range(3)]
        counted = forgotten + [Loss(0, 20), Rejoin(0, 30, 100 * S), Loss(1, 40)]
        self.assertEqual(self.verdict(3, counted), {})
        by_clocks = forgotten + [Loss(0, 20), Loss(1, 21), Rejoin(0, 30, 100 * S)]
        self.assertEqual(self.verdict(3, by_clocks), {"inversion": 1})

    def test_server_silent_for_long_counts_as_forgetful(self):
        events = [Loss(0, 5 * S), Rejoin(0, 20 * S, 0)]
        long = [Silence(1, 10 * S, 21 * S)]
        self.assertEqual(self.verdict(3, events, silences=long, patience=2 * S), {})
        short = [Silence(1, 19 * S, 21 * S)]
        self.assertEqual(self.verdict(3, events, silences=short, patience=2 * S), {"inversion": 1})
        over = [Silence(1, 10 * S, 20 * S - ANSWER - 1)]
        self.assertEqual(self.verdict(3, events, silences=over, patience=2 * S), {"inversion": 1})


class Logs(unittest.TestCase):
    def one(self, text, cut=10**9):
        found = parse_log("h", text, cut)
        self.assertEqual(len(found), 1)
        return found[0]

    def test_release_ends_the_window(self):
        a = self.one("G n 7 100 150 1120 1000\nE 300 released\n")
        self.assertEqual(a, Acquisition("h", "n", 7, 120, 150, 300, 120))

    def test_deadline_ends_the_window_of_a_stopped_holder(self):
        self.assertEqual(self.one("G n 7 100 150 1120 1000\nE 5000 lost\n").end, 1120)

    def test_renewal_moves_the_end_and_confirms_the_token(self):
        a = self.one("G n 7 100 150 1120 1000\nD 1500\nE 1400 released\n")
        self.assertEqual((a.sent, a.end, a.confirmed), (120, 1400, 500))

    def test_kill_ends_the_window(self):
        self.assertEqual(self.one("G n 7 100 150 1120 1000\nD 1500\nD 19", cut=800).end, 800)
        self.assertEqual(self.one("G n 7 100 150 1120 1000\n", cut=9000).end, 1120)

    def test_long_wait_does_not_predate_the_request(self):
        self.assertEqual(self.one("G n 7 100 5150 6120 1000\nE 5300 released\n").sent, 5120)

    def test_child_claims_until_it_was_last_alive(self):
        a = self.one("G n 7 100 150 0 0\nS 150\nS 155\n", cut=500)
        self.assertEqual((a.sent, a.granted, a.end), (100, 150, 155))
        log = "G n 7 100 150 0 0\nS 150\nS 155\nE 160 done\n"
        self.assertEqual(self.one(log, cut=157).end, 157)

    def test_refusals_and_events_are_no_acquisitions(self):
        self.assertEqual(parse_log("h", "R 5 busy\nV 6 admitted x y\n", 10), [])


if __name__ == "__main__":
    unittest.main()
