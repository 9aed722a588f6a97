// The least a trial's program can do: one result on standard output.
#include <stdio.h>

int main(void) {
  puts("{\"epoch\": 1, \"loss\": 0.5}");
  return 0;
}
