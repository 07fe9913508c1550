"""What a run can prove, as files that somebody else can check: bundles with a hash chain, and K2VV's result files."""
