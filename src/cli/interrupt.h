// Ctrl-C. By default it ends the program at once with status 130: whatever was written is durable,
// whatever was not never happened. A command that has something to save catches it instead.
#pragma once

namespace palimpsest {

void exit_on_interrupt();
// From now on Ctrl-C only sets the flag (and ends a read that waits).
void catch_interrupts();
bool interrupted();
void forget_interrupt();

}  // namespace palimpsest
