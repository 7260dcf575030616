// Compiled where CUPTI's headers are: what profiler/cupti/params.h says of its arguments is what they say.
#include "profiler/cupti/params.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdio>

using namespace vitrine::profiler::params;

static int differs = 0;

static void same(const char* what, size_t ours, size_t theirs) {
  if (ours == theirs) return;
  std::printf("%s: %zu here, %zu in CUPTI's headers\n", what, ours, theirs);
  differs = 1;
}

#define STRUCT(ours, theirs) same(#ours, kBytes<ours>, theirs##_STRUCT_SIZE);
#define BYTES(ours, theirs) same(#ours, kBytes<ours>, theirs);
#define FIELD(ours, field, theirs, name) \
  same(#ours "." #field, __builtin_offsetof(ours, field), __builtin_offsetof(theirs, name));

int main() {
  STRUCT(HostInitialize, CUpti_Profiler_Host_Initialize_Params)
  STRUCT(HostObject, CUpti_Profiler_Host_Deinitialize_Params)
  STRUCT(HostMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
  STRUCT(HostImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params)
  STRUCT(HostImage, CUpti_Profiler_Host_GetConfigImage_Params)
  STRUCT(HostPasses, CUpti_Profiler_Host_GetNumOfPasses_Params)
  STRUCT(HostEvaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
  STRUCT(Initialize, CUpti_Profiler_Initialize_Params)
  STRUCT(ChipName, CUpti_Device_GetChipName_Params)
  STRUCT(Availability, CUpti_Profiler_GetCounterAvailability_Params)
  STRUCT(RangeEnable, CUpti_RangeProfiler_Enable_Params)
  STRUCT(RangeObject, CUpti_RangeProfiler_Start_Params)
  STRUCT(RangeDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params)
  STRUCT(RangeDataInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
  STRUCT(RangeConfigure, CUpti_RangeProfiler_SetConfig_Params)
  STRUCT(RangeStop, CUpti_RangeProfiler_Stop_Params)
  STRUCT(RangeDecode, CUpti_RangeProfiler_DecodeData_Params)
  STRUCT(RangeCount, CUpti_RangeProfiler_GetCounterDataInfo_Params)
  BYTES(SampledPc, sizeof(CUpti_PCSamplingPCData))
  BYTES(Sampled, sizeof(CUpti_PCSamplingData))
  BYTES(SamplingContext, CUpti_PCSamplingEnableParamsSize)
  BYTES(SamplingData, CUpti_PCSamplingGetDataParamsSize)
  BYTES(SamplingReasonCount, CUpti_PCSamplingGetNumStallReasonsParamsSize)
  BYTES(SamplingReasons, CUpti_PCSamplingGetStallReasonsParamsSize)
  BYTES(SamplingOption, sizeof(CUpti_PCSamplingConfigurationInfo))
  BYTES(SamplingConfigure, CUpti_PCSamplingConfigurationInfoParamsSize)
  FIELD(RangeConfigure, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode)
  FIELD(RangeConfigure, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass)
  FIELD(RangeConfigure, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex)
  FIELD(RangeConfigure, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel)
  FIELD(RangeStop, all_passes, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted)
  FIELD(RangeDataSize, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes)
  FIELD(HostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues)
  FIELD(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject)
  FIELD(SampledPc, function, CUpti_PCSamplingPCData, functionName)
  FIELD(SampledPc, counts, CUpti_PCSamplingPCData, stallReason)
  FIELD(SampledPc, correlation, CUpti_PCSamplingPCData, correlationId)
  FIELD(Sampled, pc, CUpti_PCSamplingData, pPcData)
  FIELD(Sampled, of_others, CUpti_PCSamplingData, nonUsrKernelsTotalSamples)
  FIELD(SamplingOption, value, CUpti_PCSamplingConfigurationInfo, attributeData)
  same("kernel by kernel", 2, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
  same("one range a kernel", 1, CUPTI_AutoRange);
  same("replay by CUPTI", 2, CUPTI_KernelReplay);
  same("replay by the caller", 3, CUPTI_UserReplay);
  return differs;
}
