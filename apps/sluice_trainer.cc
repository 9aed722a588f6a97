#include "train/main.h"

int main(int argc, char** argv) { return sluice::train::RunTrainer(argc, argv); }
