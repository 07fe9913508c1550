"""Every fault that is told by its name, by the part of the answer it is in."""

from tests.mutation.faults import call_arguments, calls, controls, envelope, errors, framing, logprobs, text
from tests.mutation.faults.mutation import Mutation

BY_PART: dict[str, tuple[Mutation, ...]] = {
    "framing": framing.MUTATIONS,
    "errors": errors.MUTATIONS,
    "envelope": envelope.MUTATIONS,
    "calls": calls.MUTATIONS,
    "arguments": call_arguments.MUTATIONS,
    "controls": controls.MUTATIONS,
    "text": text.MUTATIONS,
    "logprobs": logprobs.MUTATIONS,
}
