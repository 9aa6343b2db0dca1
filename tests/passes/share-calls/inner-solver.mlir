// adc opt --passes=share-calls
// What the first call returned serves in the branch, since nothing is written to it, or to what the function reads. The
// calls after a store are other calls, and so is one whose result is written to.

func.func @g(%x: memref<?xf64> {adc.name = "x", adc.readonly = true}) -> memref<?xf64> {
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %y : memref<?xf64> to memref<?xf64>
  func.return %y : memref<?xf64>
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %z: memref<?xf64> {adc.name = "z"}, %t: f64) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %0 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
  memref.store %t, %z[%c0] : memref<?xf64>
  %1 = memref.load %0[%c0] : memref<?xf64>
  %2 = arith.cmpf olt, %1, %t : f64
  %3 = scf.if %2 -> (f64) {
    %4 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
    %5 = memref.load %4[%c0] : memref<?xf64>
    scf.yield %5 : f64
  } else {
    %6 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
    memref.store %t, %6[%c0] : memref<?xf64>
    %7 = memref.load %6[%c0] : memref<?xf64>
    scf.yield %7 : f64
  }
  memref.store %3, %x[%c0] : memref<?xf64>
  %8 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
  %9 = memref.load %8[%c0] : memref<?xf64>
  func.return %9 : f64
}

// becomes
func.func @g(%x: memref<?xf64> {adc.name = "x", adc.readonly = true}) -> memref<?xf64> {
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  memref.copy %x, %y : memref<?xf64> to memref<?xf64>
  func.return %y : memref<?xf64>
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %z: memref<?xf64> {adc.name = "z"}, %t: f64) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %0 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
  memref.store %t, %z[%c0] : memref<?xf64>
  %1 = memref.load %0[%c0] : memref<?xf64>
  %2 = arith.cmpf olt, %1, %t : f64
  %3 = scf.if %2 -> (f64) {
    %4 = memref.load %0[%c0] : memref<?xf64>
    scf.yield %4 : f64
  } else {
    %5 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
    memref.store %t, %5[%c0] : memref<?xf64>
    %6 = memref.load %5[%c0] : memref<?xf64>
    scf.yield %6 : f64
  }
  memref.store %3, %x[%c0] : memref<?xf64>
  %7 = func.call @g(%x) : (memref<?xf64>) -> memref<?xf64>
  %8 = memref.load %7[%c0] : memref<?xf64>
  func.return %8 : f64
}
