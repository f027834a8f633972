#pragma once

// Bytes per second of a plain read of device memory, the best of several; negative: a CUDA error
double device_read_bandwidth();
