#include "launcher/launcher.h"

int main(int argc, char** argv) { return sluice::RunLauncher(argc, argv); }
