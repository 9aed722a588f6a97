#include "cli/main.h"

int main(int argc, char** argv) { return sluice::RunSluice(argc, argv); }
