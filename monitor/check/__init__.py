"""The path of one check: plan, ask, compare with the reference, judge, record. One value in and out of every step."""
